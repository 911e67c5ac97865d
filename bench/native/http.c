/* An HTTP client that is never the limit: the same request over and over, on so many kept connections, one epoll loop.
 *
 *   http port=8080 path=/topics/t/messages body=file connections=64 seconds=5 warm=1
 *   http port=8080 path=/topics/t/messages?offset=%d step=1000 steps=50 …        (%d: 0, 1000, … 49000, 0, …)
 *
 * With a body it is POST, without GET.  Every reply must be 200 and say its length.  Closed loop: a connection asks again
 * when it is answered, so latencies are those of this many callers at once.  One line of JSON on stdout.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HEAD_MAX 8192
#define SAMPLES_MAX (4 << 20)

struct connection {
    int fd;
    char *request;
    size_t request_size, sent;
    char head[HEAD_MAX + 1];
    size_t head_size;
    long body_left; /* -1 while the head is not whole */
    double asked;
};

static int arg_count;
static char **args;
static char *body;
static size_t body_size;
static long asked_count, all_replies, replies, reply_bytes;
static double *samples, measure_from;
static long sample_count;

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static const char *option(const char *name, const char *absent) {
    size_t length = strlen(name);
    for (int i = 1; i < arg_count; i++)
        if (!strncmp(args[i], name, length) && args[i][length] == '=') return args[i] + length + 1;
    if (!absent) {
        fprintf(stderr, "option %s= is missing\n", name);
        exit(1);
    }
    return absent;
}

static void read_body(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) fail(path);
    fseek(file, 0, SEEK_END);
    body_size = ftell(file);
    rewind(file);
    body = malloc(body_size);
    if (fread(body, 1, body_size, file) != body_size) fail(path);
    fclose(file);
}

static void send_more(struct connection *c) {
    while (c->sent < c->request_size) {
        ssize_t count = send(c->fd, c->request + c->sent, c->request_size - c->sent, MSG_NOSIGNAL);
        if (count < 0 && errno == EAGAIN) return;
        if (count < 0) fail("send");
        c->sent += count;
    }
}

static void ask(struct connection *c) {
    char path[1024], head[2048];
    long step = atol(option("step", "0")), steps = atol(option("steps", "1"));
    snprintf(path, sizeof path, option("path", NULL), (int)(step * (asked_count++ % steps)));
    int size = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %zu\r\n\r\n",
                        body ? "POST" : "GET", path, body ? "Content-Type: application/json\r\n" : "", body_size);
    if (!c->request) c->request = malloc(sizeof head + body_size);
    memcpy(c->request, head, size);
    if (body_size) memcpy(c->request + size, body, body_size);
    c->request_size = size + body_size;
    c->sent = c->head_size = 0;
    c->body_left = -1;
    c->asked = now();
    send_more(c);
}

static void on_answered(struct connection *c) {
    double at = now();
    all_replies++;
    if (c->asked >= measure_from && sample_count < SAMPLES_MAX) {
        samples[sample_count++] = at - c->asked;
        replies++;
    }
    ask(c);
}

static long parse_head(struct connection *c, char *end) {
    if (strncmp(c->head, "HTTP/1.1 200", 12)) {
        fprintf(stderr, "%.*s\n", 300, c->head);
        exit(1);
    }
    char *length = strcasestr(c->head, "content-length:");
    if (!length || length > end) {
        fprintf(stderr, "a reply without its length\n");
        exit(1);
    }
    return atol(length + 15);
}

static void receive(struct connection *c) {
    static char buffer[1 << 20];
    for (;;) {
        int in_head = c->body_left < 0;
        char *into = in_head ? c->head + c->head_size : buffer;
        size_t room = in_head ? HEAD_MAX - c->head_size : sizeof buffer;
        ssize_t count = recv(c->fd, into, room, 0);
        if (count < 0 && errno == EAGAIN) return;
        if (count <= 0) fail("the server closed");
        if (c->asked >= measure_from) reply_bytes += count;
        if (in_head) {
            c->head_size += count;
            c->head[c->head_size] = 0;
            char *end = strstr(c->head, "\r\n\r\n");
            if (!end) continue;
            c->body_left = parse_head(c, end) - (c->head + c->head_size - end - 4);
        } else {
            c->body_left -= count;
        }
        if (c->body_left == 0) {
            on_answered(c);
            return;
        }
    }
}

static void open_connection(struct connection *c, int epoll, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int yes = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c->fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (fcntl(c->fd, F_SETFL, O_NONBLOCK)) fail("fcntl");
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event)) fail("epoll");
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double percentile(double share) { return sample_count ? samples[(long)(share * (sample_count - 1))] * 1000 : 0; }

int main(int count, char **words) {
    arg_count = count, args = words;
    int connections = atoi(option("connections", "64")), port = atoi(option("port", NULL));
    double seconds = atof(option("seconds", "5")), warm = atof(option("warm", "1"));
    if (*option("body", "")) read_body(option("body", NULL));
    samples = malloc(SAMPLES_MAX * sizeof *samples);
    struct connection *all = calloc(connections, sizeof *all);
    int epoll = epoll_create1(0);
    for (int i = 0; i < connections; i++) open_connection(&all[i], epoll, port);
    measure_from = now() + warm;
    double until = measure_from + seconds;
    for (int i = 0; i < connections; i++) ask(&all[i]);
    while (now() < until) {
        struct epoll_event events[256];
        int ready = epoll_wait(epoll, events, 256, 100);
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            if (events[i].events & EPOLLOUT) send_more(c);
            if (events[i].events & EPOLLIN) receive(c);
        }
    }
    qsort(samples, sample_count, sizeof *samples, by_size);
    printf("{\"all_replies\": %ld, \"replies\": %ld, \"per_second\": %.1f, \"mb_per_second\": %.2f, \"p50_ms\": %.3f, \"p99_ms\": %.3f}\n", all_replies, replies,
           replies / seconds, reply_bytes / seconds / 1e6, percentile(0.5), percentile(0.99));
    return 0;
}
