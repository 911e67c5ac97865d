/* What the clients share: arguments, the clock, configuration and a way to fail.
 *
 * A call reads  `produce topic=t records=10 -- acks=1 linger.ms=5`:  before the `--` are the client's own options, after it
 * librdkafka's properties.  A property that starts with `producer:` or `consumer:` is for that side only.
 * Every client prints exactly one line of JSON on stdout; a failure is a sentence on stderr and exit code 1.
 */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

#include <librdkafka/rdkafka.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int arg_count;
static char **args;

static void fail(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static int first_property(void) {
    for (int i = 1; i < arg_count; i++)
        if (!strcmp(args[i], "--")) return i + 1;
    return arg_count;
}

static const char *option(const char *name, const char *absent) {
    size_t length = strlen(name);
    for (int i = 1; i < first_property(); i++)
        if (!strncmp(args[i], name, length) && args[i][length] == '=') return args[i] + length + 1;
    if (!absent) fail("option %s= is missing", name);
    return absent;
}

static double number(const char *name, const char *absent) { return atof(option(name, absent)); }

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
    char why[256];
    if (rd_kafka_conf_set(conf, name, value, why, sizeof why) != RD_KAFKA_CONF_OK) fail("%s=%s: %s", name, value, why);
}

/* Returns the property with the side's prefix cut off, or NULL when it belongs to the other side. */
static const char *for_side(const char *property, const char *side) {
    size_t length = strlen(side);
    if (!strncmp(property, side, length) && property[length] == ':') return property + length + 1;
    if (!strncmp(property, "producer:", 9) || !strncmp(property, "consumer:", 9)) return NULL;
    return property;
}

static rd_kafka_conf_t *configuration(const char *side) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", option("brokers", NULL));
    for (int i = first_property(); i < arg_count; i++) {
        const char *property = for_side(args[i], side);
        if (!property) continue;
        const char *equals = strchr(property, '=');
        if (!equals) fail("%s is no property", property);
        char *name = strndup(property, equals - property);
        set(conf, name, equals + 1);
        free(name);
    }
    return conf;
}

static rd_kafka_t *client(rd_kafka_type_t type, rd_kafka_conf_t *conf) {
    char why[256];
    rd_kafka_t *made = rd_kafka_new(type, conf, why, sizeof why);
    if (!made) fail("%s", why);
    return made;
}

/* A consumer that reads every partition from its first record, without a group. */
static inline rd_kafka_t *consumer_of_all(const char *topic, int partitions) {
    rd_kafka_conf_t *conf = configuration("consumer");
    set(conf, "group.id", "bench"); /* librdkafka wants a name even for assigned partitions; nothing is committed */
    set(conf, "enable.auto.commit", "false");
    rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, conf);
    rd_kafka_poll_set_consumer(consumer);
    rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(partitions);
    for (int p = 0; p < partitions; p++) rd_kafka_topic_partition_list_add(all, topic, p)->offset = RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_resp_err_t error = rd_kafka_assign(consumer, all);
    if (error) fail("assign: %s", rd_kafka_err2str(error));
    rd_kafka_topic_partition_list_destroy(all);
    return consumer;
}

static inline char *random_bytes(size_t size) {
    char *bytes = malloc(size);
    for (size_t i = 0; i < size; i++) bytes[i] = rand();
    return bytes;
}

#endif
