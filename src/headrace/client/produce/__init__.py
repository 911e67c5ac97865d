"""A producer for many callers at once: what comes while a request is on its way leaves together with the next one.

librdkafka takes messages one by one, and tells of each one that it is delivered: in Python both cost more than the rest of
a request. Here a batch is encoded in one loop and acknowledged by one number.

    producer     Producer.send_all: who asked, and when what is sent
    partitioner  which partition a key goes to
    texts        a large POST of text, as columns instead of a message each
    queue        what waits for one partition, in order; its producer id and sequence
    encode       messages to the bytes of a batch
    receipt      what came of the messages of one call
    undelivered  why one is not known to be stored
"""
