#include "load_gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOK_AGAIN_MS 2

static struct {
    pthread_t thread;
    pthread_mutex_t mutex; // guards is_down
    pthread_cond_t changed;
    bool is_down;
    atomic_bool is_closed;
    int close_event;
    struct sockaddr_in address;
} gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static _Noreturn void gate_die(const char *what) {
    (void)fprintf(stderr, "crash_load: gate: %s: %s\n", what, strerror(errno));
    exit(1);
}

static bool somebody_listens(void) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) gate_die("socket");
    bool yes = connect(fd, (const struct sockaddr *)&gate.address, sizeof gate.address) == 0;
    (void)close(fd);
    return yes;
}

static void *gate_main(void *unused) {
    (void)unused;
    pthread_mutex_lock(&gate.mutex);
    while (!atomic_load(&gate.is_closed)) {
        if (!gate.is_down) {
            pthread_cond_wait(&gate.changed, &gate.mutex);
            continue;
        }
        pthread_mutex_unlock(&gate.mutex);
        bool up = somebody_listens();
        if (!up) {
            // Whichever comes first: the end of the load, or time to look again.
            struct pollfd closing = {.fd = gate.close_event, .events = POLLIN};
            (void)poll(&closing, 1, LOOK_AGAIN_MS);
        }
        pthread_mutex_lock(&gate.mutex);
        if (up) {
            gate.is_down = false;
            pthread_cond_broadcast(&gate.changed);
        }
    }
    pthread_mutex_unlock(&gate.mutex);
    return NULL;
}

void load_gate_open(uint16_t port) {
    gate.address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
    gate.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    gate.close_event = eventfd(0, EFD_CLOEXEC);
    if (gate.close_event < 0) gate_die("eventfd");
    if (pthread_create(&gate.thread, NULL, gate_main, NULL) != 0) gate_die("thread");
}

void load_gate_close(void) {
    pthread_mutex_lock(&gate.mutex);
    atomic_store(&gate.is_closed, true);
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.mutex);
    if (eventfd_write(gate.close_event, 1) != 0) gate_die("eventfd");
    pthread_join(gate.thread, NULL);
}

bool load_gate_is_closed(void) { return atomic_load(&gate.is_closed); }

void load_gate_wait(void) {
    pthread_mutex_lock(&gate.mutex);
    gate.is_down = true;
    pthread_cond_broadcast(&gate.changed);
    while (gate.is_down && !atomic_load(&gate.is_closed)) {
        pthread_cond_wait(&gate.changed, &gate.mutex);
    }
    pthread_mutex_unlock(&gate.mutex);
}
