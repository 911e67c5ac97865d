/* Transactions, one after the other, by `producers` producers at once: how many commits and records a second.
 *
 * transact brokers= topic= partitions= size= producers= seconds= name= [hold_ms=] -- properties
 * Without `hold_ms` a transaction is one record to each of two partitions; with it, as many records to all partitions as the
 * broker takes in that time.  The clock runs from the first transaction after each producer's first one, which is not counted,
 * to the last commit.  `name` begins the transactional ids.
 */
#include "client.h"
#include <pthread.h>

#define TIMEOUT_MS 60000
#define PER_TURN 256

typedef struct {
    int number;
    long commits, records;
    double ended;
    pthread_t thread;
} producer_t;

static int partitions;
static size_t size;
static double stop, hold;
static char *payload;
static pthread_barrier_t ready;

static void check(rd_kafka_error_t *error, const char *what) {
    if (error) fail("%s: %s", what, rd_kafka_error_string(error));
}

static void send_record(rd_kafka_t *client, rd_kafka_topic_t *topic, int partition) {
    while (rd_kafka_produce(topic, partition, 0, payload, size, NULL, 0, NULL) == -1) rd_kafka_poll(client, 1);
}

static long write_records(rd_kafka_t *client, rd_kafka_topic_t *topic, long turn) {
    if (hold <= 0) {
        for (int i = 0; i < 2; i++) send_record(client, topic, (turn + i) % partitions);
        return 2;
    }
    long written = 0;
    for (double end = now() + hold; now() < end; turn++) {
        for (int i = 0; i < PER_TURN; i++) send_record(client, topic, turn % partitions);
        rd_kafka_poll(client, 0);
        written += PER_TURN;
    }
    return written;
}

static long transact(rd_kafka_t *client, rd_kafka_topic_t *topic, long turn) {
    check(rd_kafka_begin_transaction(client), "begin");
    long written = write_records(client, topic, turn);
    check(rd_kafka_commit_transaction(client, TIMEOUT_MS), "commit");
    return written;
}

static void *run(void *argument) {
    producer_t *self = argument;
    char id[128];
    snprintf(id, sizeof id, "%s-%d", option("name", NULL), self->number);
    rd_kafka_conf_t *conf = configuration("producer");
    set(conf, "transactional.id", id);
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, conf);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, option("topic", NULL), NULL);
    check(rd_kafka_init_transactions(producer, TIMEOUT_MS), "init");
    transact(producer, topic, self->number);
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&ready);
    for (long turn = self->number; now() < stop; turn++) {
        self->records += transact(producer, topic, turn);
        self->commits++;
    }
    self->ended = now();
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(producer);
    return NULL;
}

int main(int count, char **values) {
    arg_count = count, args = values;
    partitions = number("partitions", NULL), size = number("size", NULL), hold = number("hold_ms", "0") / 1e3;
    int producers = number("producers", NULL);
    payload = random_bytes(size);
    pthread_barrier_init(&ready, NULL, producers + 1);
    producer_t *all = calloc(producers, sizeof *all);
    for (int i = 0; i < producers; i++) {
        all[i].number = i;
        pthread_create(&all[i].thread, NULL, run, &all[i]);
    }
    pthread_barrier_wait(&ready);
    double began = now(), ended = began;
    stop = began + number("seconds", NULL);
    pthread_barrier_wait(&ready);
    long commits = 0, records = 0;
    for (int i = 0; i < producers; i++) {
        pthread_join(all[i].thread, NULL);
        commits += all[i].commits, records += all[i].records;
        if (all[i].ended > ended) ended = all[i].ended;
    }
    double took = ended - began;
    printf("{\"commits\": %ld, \"records\": %ld, \"commits_per_s\": %.2f, \"mb_per_s\": %.3f}\n", commits, records, commits / took,
           records * (double)size / took / 1e6);
    return 0;
}
