/* Reads `records` records from the beginning of every partition as fast as the broker gives them.
 *
 * consume brokers= topic= partitions= records= [seconds=] -- properties
 * The clock starts when the first batch has arrived and that batch is not counted: what is measured is the flow, not the
 * time librdkafka needs to connect and look up offsets.  Partitions are assigned; no group takes part.  `cores` is the CPU that
 * this client itself took meanwhile: near the machine's, it is the client that was measured.
 */
#include "client.h"
#include <sys/resource.h>

#define BATCH 10000

static double cpu_seconds(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

int main(int count, char **values) {
    arg_count = count, args = values;
    long records = number("records", NULL), uncounted = 0, received = 0;
    double deadline = now() + number("seconds", "120"), began = 0, bytes = 0, cpu = 0;
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
            began = now(), cpu = cpu_seconds();
        }
    }
    double took = now() - began;
    printf("{\"records\": %ld, \"seconds\": %.4f, \"records_per_s\": %.1f, \"mb_per_s\": %.3f, \"bytes\": %.0f, \"cores\": %.2f}\n", received,
           took, received / took, bytes / took / 1e6, bytes, (cpu_seconds() - cpu) / took);
    return 0;
}
