/* Produces as fast as the broker takes it, or at `rate` records a second, until `records` or `seconds` are reached.
 *
 * produce brokers= topic= partitions= size= [records=] [seconds=] [rate=] [chunk=] -- properties
 * The clock runs from the first record handed over to the last acknowledgement.  Connecting is outside: a first record per
 * partition is acknowledged before the clock starts.  SIGTERM ends it early, with its figures.  `chunk` records go to one partition before the next one's turn.
 */
#include "client.h"
#include <signal.h>
#include <unistd.h>

#define CHUNK_MAX 1024

static long acknowledged, refused;
static char first_refusal[128];
static volatile sig_atomic_t asked_to_stop;

static void on_sigterm(int number) {
    (void)number;
    asked_to_stop = 1;
}

static void on_delivery(rd_kafka_t *producer, const rd_kafka_message_t *message, void *opaque) {
    (void)producer, (void)opaque;
    if (!message->err) {
        acknowledged++;
    } else if (!refused++) {
        snprintf(first_refusal, sizeof first_refusal, "%s", rd_kafka_err2str(message->err));
    }
}

static void until_all_acknowledged(rd_kafka_t *producer, double deadline) {
    while (rd_kafka_outq_len(producer) > 0 && now() < deadline) rd_kafka_poll(producer, 10);
}

static long hand_over(rd_kafka_topic_t *topic, int partition, char *payload, size_t size, int count) {
    rd_kafka_message_t messages[CHUNK_MAX];
    memset(messages, 0, sizeof messages[0] * count);
    for (int i = 0; i < count; i++) {
        messages[i].payload = payload;
        messages[i].len = size;
    }
    return rd_kafka_produce_batch(topic, partition, 0, messages, count);
}

static void touch_every_partition(rd_kafka_t *producer, rd_kafka_topic_t *topic, int partitions, char *payload, size_t size) {
    for (int p = 0; p < partitions; p++)
        while (hand_over(topic, p, payload, size, 1) != 1) rd_kafka_poll(producer, 10);
    until_all_acknowledged(producer, now() + 30);
    if (acknowledged != partitions) fail("%ld of %d first records acknowledged; %s", acknowledged, partitions, first_refusal);
    acknowledged = 0;
}

int main(int count, char **values) {
    arg_count = count, args = values;
    signal(SIGTERM, on_sigterm);
    int partitions = number("partitions", NULL), chunk = number("chunk", "256");
    size_t size = number("size", NULL);
    long records = number("records", "1e15"), sent = 0;
    double seconds = number("seconds", "1e9"), rate = number("rate", "0");
    if (chunk > CHUNK_MAX) fail("chunk is at most %d", CHUNK_MAX);

    rd_kafka_conf_t *conf = configuration("producer");
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, conf);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, option("topic", NULL), NULL);
    char *payload = random_bytes(size);
    touch_every_partition(producer, topic, partitions, payload, size);

    double began = now(), stop = began + seconds;
    for (long turn = 0; sent < records && now() < stop && !asked_to_stop; turn++) {
        while (rate > 0 && (now() - began) * rate < sent && now() < stop && !asked_to_stop) {
            rd_kafka_poll(producer, 0);
            usleep(200);
        }
        long left = records - sent, taken = hand_over(topic, turn % partitions, payload, size, left < chunk ? left : chunk);
        sent += taken;
        rd_kafka_poll(producer, taken < chunk && left >= chunk ? 1 : 0);
    }
    until_all_acknowledged(producer, now() + 60);
    double took = now() - began;
    if (acknowledged < sent) fail("%ld of %ld records acknowledged, %ld refused; %s", acknowledged, sent, refused, first_refusal);
    printf("{\"records\": %ld, \"seconds\": %.4f, \"records_per_s\": %.1f, \"mb_per_s\": %.3f, \"stored\": %ld, \"librdkafka\": \"%s\"}\n",
           acknowledged, took, acknowledged / took, acknowledged * (double)size / took / 1e6, acknowledged + partitions,
           rd_kafka_version_str());
    return 0;
}
