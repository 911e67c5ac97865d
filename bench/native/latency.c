/* Open-loop latency at a fixed rate: from the moment a record was due to be sent until its ack, and until a consumer has it.
 *
 * latency brokers= topic= partitions= rate= seconds= size= [warmup=] [consume=1] -- properties
 * The topic must be empty.  Records carry their sequence number, from which the due time follows, so a stall of the broker
 * (or a full queue in this client) is charged to every record that was due in it: no coordinated omission.  What is still
 * unanswered when the wait ends enters with the time it has waited so far, a lower bound, and is counted in `late`.
 * `behind` is the share of records without an ack when the last one was sent: a broker that cannot keep the pace has a large one.
 */
#include "client.h"
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

#define PROBE UINT64_MAX
#define DRAIN_S 15.0
#define GRAIN_S 0.0002 /* records that fall due within it are sent together */

static double began, rate;
static long total, warm, refused;
static double *acked_after, *seen_after; /* ms by sequence number, NAN-free: negative means not yet */
static volatile long acked, seen;
static int partitions;
static volatile int probed, finished;

static double due(uint64_t sequence) { return began + sequence / rate; }

static void arrived(const rd_kafka_message_t *message, double *after, volatile long *counter) {
    uint64_t sequence;
    memcpy(&sequence, message->payload, sizeof sequence);
    if (sequence == PROBE || after[sequence] >= 0) return;
    after[sequence] = (now() - due(sequence)) * 1e3;
    (*counter)++;
}

static void on_delivery(rd_kafka_t *producer, const rd_kafka_message_t *message, void *opaque) {
    (void)producer, (void)opaque;
    if (message->err) refused++;
    else arrived(message, acked_after, &acked);
}

static void *run_consumer(void *unused) {
    (void)unused;
    rd_kafka_t *consumer = consumer_of_all(option("topic", NULL), partitions);
    char *partition_seen = calloc(partitions, 1);
    while (!finished) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, 50);
        if (!message) continue;
        if (!message->err) {
            if (!partition_seen[message->partition]) partition_seen[message->partition] = 1, probed++;
            arrived(message, seen_after, &seen);
        }
        rd_kafka_message_destroy(message);
    }
    free(partition_seen);
    return NULL;
}

/* Its own thread, asleep until there is something: a polling client would take the CPU time it is there to measure. */
static void *run_deliveries(void *producer) {
    while (!finished) rd_kafka_poll(producer, 50);
    return NULL;
}

static void sleep_for(double seconds) {
    struct timespec wait = {0, (long)(seconds * 1e9)};
    nanosleep(&wait, NULL);
}

static void send_record(rd_kafka_topic_t *topic, int partition, char *payload, size_t size, uint64_t sequence) {
    memcpy(payload, &sequence, sizeof sequence);
    while (rd_kafka_produce(topic, partition, RD_KAFKA_MSG_F_COPY, payload, size, NULL, 0, NULL) == -1) sleep_for(GRAIN_S);
}

/* One record per partition goes all the way round before the clock starts, so connecting is not measured. */
static void probe_every_partition(rd_kafka_t *producer, rd_kafka_topic_t *topic, char *payload, size_t size, int consume) {
    for (int p = 0; p < partitions; p++) send_record(topic, p, payload, size, PROBE);
    double deadline = now() + 60;
    while (rd_kafka_outq_len(producer) > 0 || (consume && probed < partitions)) {
        sleep_for(0.005);
        if (now() > deadline) fail("after 60 s %d of %d partitions had answered", probed, partitions);
    }
    if (refused) fail("%ld first records were refused", refused);
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void print_percentiles(const char *name, double *after, double end) {
    long late = 0, count = total - warm;
    for (long i = warm; i < total; i++)
        if (after[i] < 0) after[i] = (end - due(i)) * 1e3, late++;
    double *sorted = after + warm;
    qsort(sorted, count, sizeof *sorted, ascending);
    printf("\"%s\": {\"count\": %ld, \"late\": %ld, \"p50\": %.3f, \"p99\": %.3f, \"p999\": %.3f, \"max\": %.3f}", name, count, late,
           sorted[count / 2], sorted[count * 99 / 100], sorted[count * 999 / 1000], sorted[count - 1]);
}

static double *unanswered(void) {
    double *after = malloc(total * sizeof *after);
    for (long i = 0; i < total; i++) after[i] = -1;
    return after;
}

int main(int count, char **values) {
    arg_count = count, args = values;
    prctl(PR_SET_TIMERSLACK, 1);
    partitions = number("partitions", NULL), rate = number("rate", NULL);
    double seconds = number("seconds", NULL);
    size_t size = number("size", NULL);
    int consume = number("consume", "1");
    total = rate * seconds, warm = rate * number("warmup", "2");
    if (size < sizeof(uint64_t) || warm >= total) fail("size is at least 8 and warmup shorter than seconds");
    acked_after = unanswered(), seen_after = unanswered();

    rd_kafka_conf_t *conf = configuration("producer");
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, conf);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, option("topic", NULL), NULL);
    char *payload = random_bytes(size);
    pthread_t deliveries, consumer;
    pthread_create(&deliveries, NULL, run_deliveries, producer);
    if (consume) pthread_create(&consumer, NULL, run_consumer, NULL);
    probe_every_partition(producer, topic, payload, size, consume);

    began = now() + 0.05;
    for (long i = 0; i < total;) {
        double ahead = due(i) - now();
        if (ahead > 0) {
            sleep_for(ahead > GRAIN_S ? ahead : GRAIN_S);
            continue;
        }
        send_record(topic, i % partitions, payload, size, i);
        i++;
    }
    double behind = 1.0 - (double)acked / total, end = now() + DRAIN_S;
    while ((acked + refused < total || (consume && seen < acked)) && now() < end) sleep_for(0.005);
    finished = 1, end = now();
    pthread_join(deliveries, NULL);
    if (consume) pthread_join(consumer, NULL);
    if (refused) fail("%ld records were refused", refused);
    printf("{\"sent\": %ld, \"rate\": %.0f, \"behind\": %.4f, ", total, rate, behind);
    print_percentiles("ack", acked_after, end);
    if (consume) {
        printf(", ");
        print_percentiles("e2e", seen_after, end);
    }
    printf("}\n");
    return 0;
}
