// The load of the crash test: many clients that fight over a bounded number of keys, whatever
// becomes of the server, and write down what they asked and were told (load_oracle.h).
//
//   crash_load PORT ORACLE CLIENTS SLOTS SEED
//
// It works until it reads "stop" from standard input, and answers "stopped". After that, "look"
// makes it look at every key once, as a client of its own, and at the stored result of what is
// final; it answers "looked CLIENT". The end of its input ends it. Exit status 0; 1 if it could not
// do its work.
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load_client.h"
#include "load_gate.h"
#include "load_oracle.h"

#define CLIENTS_MAX 1024
#define SWEEPERS 1

static struct load load;
static struct load_client *clients[CLIENTS_MAX + SWEEPERS];
static pthread_t threads[CLIENTS_MAX + SWEEPERS];

static _Noreturn void die(const char *what) {
    (void)fprintf(stderr, "crash_load: %s\n", what);
    exit(1);
}

static uint64_t number_of(const char *text, uint64_t max) {
    uint64_t value = 0;
    if (*text == '\0') die("an argument is empty");
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') die("an argument is no number");
        if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value) || value > max) {
            die("an argument is too large");
        }
    }
    return value;
}

static void start(uint32_t number, void *(*work)(void *)) {
    struct load_client *client = calloc(1, sizeof *client);
    if (client == NULL) die("out of memory");
    load_client_open(client, &load, number);
    clients[number] = client;
    if (pthread_create(&threads[number], NULL, work, client) != 0) die("cannot start threads");
}

static void stop_all(uint32_t count) {
    load_gate_close();
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        load_client_close(clients[i]);
        free(clients[i]);
    }
    printf("stopped\n");
}

static void look(uint32_t number) {
    struct load_client *client = calloc(1, sizeof *client);
    if (client == NULL) die("out of memory");
    load_client_open(client, &load, number);
    load_client_look(client);
    load_client_close(client);
    free(client);
    load_oracle_flush();
    printf("looked %u\n", number);
}

int main(int argc, char **argv) {
    if (argc != 6) die("usage: crash_load PORT ORACLE CLIENTS SLOTS SEED");
    uint16_t port = (uint16_t)number_of(argv[1], UINT16_MAX);
    char target[32];
    (void)snprintf(target, sizeof target, "127.0.0.1:%u", port);
    load.target = target;
    load.clients = (uint32_t)number_of(argv[3], CLIENTS_MAX);
    load.slots = (uint32_t)number_of(argv[4], LOAD_SLOTS_MAX);
    load.seed = number_of(argv[5], UINT32_MAX);
    load_oracle_open(argv[2]);
    load_gate_open(port);
    for (uint32_t i = 0; i < load.clients; i++) start(i, load_client_work);
    for (uint32_t i = 0; i < SWEEPERS; i++) start(load.clients + i, load_client_sweep);

    uint32_t next_number = load.clients + SWEEPERS;
    char command[16];
    while (fgets(command, sizeof command, stdin) != NULL) {
        if (strcmp(command, "stop\n") == 0) {
            stop_all(load.clients + SWEEPERS);
        } else if (strcmp(command, "look\n") == 0) {
            look(next_number++);
        } else {
            die("unknown command");
        }
        (void)fflush(stdout);
    }
    load_oracle_close();
    return 0;
}
