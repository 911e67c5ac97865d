/* Offset commits, each of `groups` groups on a connection of its own with one commit in flight: how many a second, how late.
 *
 * commit brokers= topic= groups= seconds= name=
 * Speaks OffsetCommit version 7 itself, in one thread: a librdkafka consumer per group would take the CPU that the broker needs.
 * All groups have their coordinator at the first of `brokers`; while it is not ready yet a group asks again.
 */
#include "client.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPLY_MAX 1024
#define COMMITS_MAX 10000000
#define SILENCE_S 30
enum { OFFSET_COMMIT = 8, VERSION = 7, LOADING = 14, NOT_AVAILABLE = 15, NOT_COORDINATOR = 16 };

typedef struct {
    char request[512], reply[REPLY_MAX];
    size_t request_size, offset_at, received;
    int64_t offset;
    double asked;
    int socket;
} group_t;

static double *took;
static long done;

static void put(group_t *group, const void *bytes, size_t size) {
    if (group->request_size + size > sizeof group->request) fail("the topic's name is too long");
    memcpy(group->request + group->request_size, bytes, size);
    group->request_size += size;
}

static void put_number(group_t *group, int64_t value, int bytes) {
    char big_endian[8];
    for (int i = 0; i < bytes; i++) big_endian[i] = value >> 8 * (bytes - 1 - i);
    put(group, big_endian, bytes);
}

static void put_string(group_t *group, const char *text) {
    put_number(group, strlen(text), 2);
    put(group, text, strlen(text));
}

static void write_request(group_t *group, const char *name, const char *topic) {
    put_number(group, 0, 4); /* the length, known at the end */
    put_number(group, OFFSET_COMMIT, 2), put_number(group, VERSION, 2), put_number(group, 1, 4), put_string(group, "bench");
    put_string(group, name), put_number(group, -1, 4), put_string(group, ""), put_number(group, -1, 2);
    put_number(group, 1, 4), put_string(group, topic), put_number(group, 1, 4), put_number(group, 0, 4);
    group->offset_at = group->request_size;
    put_number(group, 0, 8), put_number(group, -1, 4), put_string(group, "");
    uint32_t length = htonl(group->request_size - 4);
    memcpy(group->request, &length, 4);
}

static int connected(void) {
    char *host = strdup(option("brokers", NULL)), *port = strchr(host, ':');
    if (!port) fail("brokers= wants HOST:PORT");
    *port++ = 0;
    port[strcspn(port, ",")] = 0;
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *address;
    if (getaddrinfo(host, port, &hints, &address)) fail("%s is no address", host);
    int made = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (connect(made, address->ai_addr, address->ai_addrlen)) fail("cannot connect to %s:%s: %s", host, port, strerror(errno));
    setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    freeaddrinfo(address);
    free(host);
    return made;
}

static void ask(group_t *group) {
    uint64_t offset = htobe64(group->offset);
    memcpy(group->request + group->offset_at, &offset, sizeof offset);
    group->received = 0, group->asked = now();
    if (send(group->socket, group->request, group->request_size, MSG_NOSIGNAL) != (ssize_t)group->request_size)
        fail("a request could not be sent whole: %s", strerror(errno));
}

/* Whether the whole answer is there; the error code of the one partition is its last two bytes. */
static int answered(group_t *group) {
    ssize_t got = recv(group->socket, group->reply + group->received, REPLY_MAX - group->received, 0);
    if (got <= 0) fail("the broker closed a connection");
    group->received += got;
    uint32_t length;
    memcpy(&length, group->reply, sizeof length);
    return group->received >= 4 && group->received == 4 + ntohl(length);
}

static void on_answer(group_t *group, double began) {
    int error = (unsigned char)group->reply[group->received - 2] << 8 | (unsigned char)group->reply[group->received - 1];
    if (error == LOADING || error == NOT_AVAILABLE || error == NOT_COORDINATOR) {
        usleep(1000);
        return;
    }
    if (error) fail("a commit was refused with error %d", error);
    group->offset++;
    if (group->asked >= began && done < COMMITS_MAX) took[done++] = now() - group->asked;
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int count, char **values) {
    arg_count = count, args = values;
    int groups = number("groups", NULL), waiting = epoll_create1(0);
    group_t *all = calloc(groups, sizeof *all);
    took = malloc(COMMITS_MAX * sizeof *took);
    /* The first second warms up: it may hold the making of the internal topic. */
    double began = now() + 1, end = began + number("seconds", NULL);
    for (int i = 0; i < groups; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s-%d", option("name", NULL), i);
        write_request(&all[i], name, option("topic", NULL));
        all[i].socket = connected();
        struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = &all[i]};
        epoll_ctl(waiting, EPOLL_CTL_ADD, all[i].socket, &wanted);
        ask(&all[i]);
    }
    struct epoll_event ready[64];
    while (now() < end) {
        int events = epoll_wait(waiting, ready, 64, SILENCE_S * 1000);
        if (events <= 0) fail("no answer for %d s", SILENCE_S);
        for (int i = 0; i < events; i++) {
            group_t *group = ready[i].data.ptr;
            if (!answered(group)) continue;
            on_answer(group, began);
            ask(group);
        }
    }
    if (!done) fail("no commit was answered in time");
    double seconds = now() - began;
    qsort(took, done, sizeof *took, ascending);
    printf("{\"commits\": %ld, \"per_s\": %.1f, \"p50_ms\": %.3f, \"p99_ms\": %.3f}\n", done, done / seconds,
           took[done / 2] * 1e3, took[done * 99 / 100] * 1e3);
    return 0;
}
