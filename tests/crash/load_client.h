// One client of the load: it claims keys that it shares with the others, and does with its claims
// all that a consumer may do, and some that it may not.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include <claimd.h>

#include "load_oracle.h"

#define LOAD_SLOTS_MAX 4096
#define LOAD_BODY_BYTES_MAX (64 * 1024)
#define LOAD_LOST_MAX 16
#define LOAD_KEY_BYTES 80

// What all clients share. Keys are made of a slot and its generation: a slot moves on to a fresh
// key when somebody finds the old one finished, so that a bounded number of keys is fought over.
struct load {
    const char *target;
    uint32_t clients;
    uint32_t slots;
    uint64_t seed;
    atomic_uint generations[LOAD_SLOTS_MAX];
};

struct load_key {
    uint32_t slot;
    uint32_t generation;
    char consumer[16];
    char message_id[48];
    char text[LOAD_KEY_BYTES]; // consumer:message_id
};

struct load_claim {
    struct load_key key;
    uint64_t token;
};

enum load_verdict {
    LOAD_OK,      // accepted
    LOAD_REFUSED, // certainly nothing happened
    LOAD_UNSURE,  // nobody knows yet
};

struct load_client {
    struct load *load;
    uint32_t number;
    uint64_t random;
    claimd_client *rpc;
    bool library_repeats; // else it repeats by itself, so that each try has a line of its own
    unsigned tries;       // of the call under way
    char owner[16];
    struct load_claim lost[LOAD_LOST_MAX]; // claims that it let lapse: it comes back to them late
    uint32_t lost_count;
    uint8_t body[LOAD_BODY_BYTES_MAX];
};

void load_client_open(struct load_client *client, struct load *load, uint32_t number);
void load_client_close(struct load_client *client);

// After an answer that did not come: waits for the server and connects anew.
void load_client_reconnect(struct load_client *client);

// Works until the gate closes. The argument is a struct load_client.
void *load_client_work(void *client);
// Looks at every key there is, over and over, until the gate closes.
void *load_client_sweep(void *client);
// Looks at every key there is once, and asks for the stored result of each that is final.
void load_client_look(struct load_client *client);

struct load_key load_key_make(uint32_t slot, uint32_t generation);
uint64_t load_random(struct load_client *client);
// In [0, below).
uint32_t load_random_below(struct load_client *client, uint32_t below);
bool load_chance(struct load_client *client, uint32_t percent);
