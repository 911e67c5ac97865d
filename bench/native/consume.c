/* Reads `records` records from the beginning of every partition as fast as the broker gives them.
 *
 * consume brokers= topic= partitions= records= [seconds=] -- properties
 * The clock starts when the first batch has arrived and that batch is not counted: what is measured is the flow, not the
 * time librdkafka needs to connect and look up offsets.  Partitions are assigned; no group takes part.
 */
#include "client.h"

#define BATCH 10000

int main(int count, char **values) {
    arg_count = count, args = values;
    long records = number("records", NULL), uncounted = 0, received = 0;
    double deadline = now() + number("seconds", "120"), began = 0, bytes = 0;
    rd_kafka_t *consumer = consumer_of_all(option("topic", NULL), number("partitions", NULL));
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(consumer);
    static rd_kafka_message_t *batch[BATCH];

    while (uncounted + received < records) {
        if (now() > deadline) fail("%ld of %ld records within the time limit", uncounted + received, records);
        ssize_t got = rd_kafka_consume_batch_queue(queue, 100, batch, BATCH);
        long good = 0;
        for (ssize_t i = 0; i < got; i++) {
            if (!batch[i]->err) {
                good++;
                if (began) bytes += batch[i]->len;
            } else if (batch[i]->err != RD_KAFKA_RESP_ERR__PARTITION_EOF) {
                fprintf(stderr, "%s\n", rd_kafka_message_errstr(batch[i]));
            }
            rd_kafka_message_destroy(batch[i]);
        }
        if (began) {
            received += good;
        } else if (good) {
            uncounted = good;
            began = now();
        }
    }
    double took = now() - began;
    printf("{\"records\": %ld, \"seconds\": %.4f, \"records_per_s\": %.1f, \"mb_per_s\": %.3f, \"bytes\": %.0f}\n", received, took,
           received / took, bytes / took / 1e6, bytes);
    return 0;
}
