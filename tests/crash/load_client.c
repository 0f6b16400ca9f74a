#include "load_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load_gate.h"
#include "load_verbs.h"

#define REPEATS_MAX 8

// --- chance -------------------------------------------------------------------------------------

// splitmix64: the same on every machine for the same seed.
uint64_t load_random(struct load_client *client) {
    uint64_t z = client->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint32_t load_random_below(struct load_client *client, uint32_t below) {
    return (uint32_t)(load_random(client) % below);
}

bool load_chance(struct load_client *client, uint32_t percent) {
    return load_random_below(client, 100) < percent;
}

// Absent, empty, small and large, up to the limit of its field.
static struct claimd_bytes random_body(struct load_client *client, uint32_t bytes_max) {
    static const uint32_t sizes[] = {200, 200, 200, 4096, UINT32_MAX};
    struct claimd_bytes body = CLAIMD_BYTES_ABSENT;
    uint32_t kind = load_random_below(client, 100);
    if (kind < 10) return body;
    uint32_t limit = sizes[load_random_below(client, sizeof sizes / sizeof sizes[0])];
    if (limit > bytes_max) limit = load_chance(client, 20) ? bytes_max : 1000;
    body.data = client->body;
    body.size = kind < 20 ? 0 : 1 + load_random_below(client, limit);
    for (size_t at = 0; at < body.size; at += sizeof(uint64_t)) {
        uint64_t word = load_random(client);
        size_t left = body.size - at;
        memcpy(client->body + at, &word, left < sizeof word ? left : sizeof word);
    }
    return body;
}

// --- life ---------------------------------------------------------------------------------------

static void count_try(void *context, const struct claimd_error *error, int64_t delay_ms) {
    (void)error;
    (void)delay_ms;
    struct load_client *client = context;
    client->tries++;
}

static void connect_now(struct load_client *client) {
    struct claimd_options options = CLAIMD_OPTIONS_INIT;
    struct claimd_error error;
    options.target = client->load->target;
    options.no_retry = !client->library_repeats;
    options.on_retry = count_try;
    options.on_retry_context = client;
    if (claimd_client_open(&options, &client->rpc, &error) != CLAIMD_OK) {
        (void)fprintf(stderr, "crash_load: cannot open a client: %s\n", error.message);
        exit(1);
    }
}

void load_client_open(struct load_client *client, struct load *load, uint32_t number) {
    client->load = load;
    client->number = number;
    client->random = load->seed * 1000003 + number;
    client->library_repeats = number % 4 == 3;
    (void)snprintf(client->owner, sizeof client->owner, "o%u", number);
    connect_now(client);
}

void load_client_close(struct load_client *client) { claimd_client_close(client->rpc); }

void load_client_reconnect(struct load_client *client) {
    load_gate_wait();
    if (client->library_repeats) return; // it looks after its connection by itself
    claimd_client_close(client->rpc);
    connect_now(client);
}

// Most callers repeat what they are unsure of, as they should; some never come back.
static bool will_repeat(struct load_client *client, enum load_verdict verdict, unsigned repeats) {
    if (verdict != LOAD_UNSURE) return false;
    load_client_reconnect(client);
    return !load_gate_is_closed() && repeats < REPEATS_MAX && load_chance(client, 80);
}

// --- keys ---------------------------------------------------------------------------------------

struct load_key load_key_make(uint32_t slot, uint32_t generation) {
    struct load_key key = {.slot = slot, .generation = generation};
    (void)snprintf(key.consumer, sizeof key.consumer, "crash/%u", slot % 4);
    // Some have the shape of a UUID, which is stored in another way.
    const char *format = slot % 8 == 7 ? "00000000-0000-4000-%04x-%012x" : "k-%u-%u";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(key.message_id, sizeof key.message_id, format, slot, generation);
#pragma GCC diagnostic pop
    (void)snprintf(key.text, sizeof key.text, "%s:%s", key.consumer, key.message_id);
    return key;
}

static struct load_key random_key(struct load_client *client) {
    struct load *load = client->load;
    uint32_t slot = load_random_below(client, load->slots);
    return load_key_make(slot, atomic_load(&load->generations[slot]));
}

static struct load_key random_old_key(struct load_client *client) {
    struct load_key key = random_key(client);
    return load_key_make(key.slot, load_random_below(client, key.generation + 1));
}

static void slot_move_on(struct load_client *client, const struct load_key *key) {
    unsigned expected = key->generation;
    (void)atomic_compare_exchange_strong(&client->load->generations[key->slot], &expected,
                                         key->generation + 1);
}

// --- a claim ------------------------------------------------------------------------------------

static struct load_ending random_ending(struct load_client *client) {
    struct load_ending ending = {.result = CLAIMD_BYTES_ABSENT, .retry_after_ms = CLAIMD_UNSET_MS};
    uint32_t way = load_random_below(client, 100);
    (void)snprintf(ending.text, sizeof ending.text, "t%" PRIx64, load_random(client));
    if (way < 60) {
        ending.end = LOAD_COMPLETE;
        ending.result = random_body(client, LOAD_BODY_BYTES_MAX);
    } else if (way < 68) {
        ending.end = LOAD_REJECT;
        ending.result = random_body(client, LOAD_BODY_BYTES_MAX);
    } else if (way < 80) {
        ending.end = LOAD_RELEASE;
    } else {
        static const enum claimd_failure_kind kinds[] = {
            CLAIMD_FAILURE_TRANSIENT,    CLAIMD_FAILURE_TRANSIENT, CLAIMD_FAILURE_TRANSIENT,
            CLAIMD_FAILURE_UNCLASSIFIED, CLAIMD_FAILURE_POISON,    CLAIMD_FAILURE_OUTCOME_UNKNOWN};
        ending.end = LOAD_FAIL;
        ending.kind = kinds[load_random_below(client, sizeof kinds / sizeof kinds[0])];
        if (load_chance(client, 90)) ending.retry_after_ms = load_random_below(client, 150);
    }
    return ending;
}

static enum load_verdict end_surely(struct load_client *client, const struct load_claim *claim,
                                    const struct load_ending *ending) {
    enum load_verdict verdict = load_end(client, claim, ending);
    for (unsigned n = 0; will_repeat(client, verdict, n); n++) {
        verdict = load_end(client, claim, ending);
    }
    return verdict;
}

// Ends a claim; now and then says the same twice, or thinks better of it too late.
static void end_claim(struct load_client *client, const struct load_claim *claim) {
    struct load_ending ending = random_ending(client);
    if (end_surely(client, claim, &ending) != LOAD_OK) return;
    uint32_t more = load_random_below(client, 100);
    if (more < 10) {
        (void)end_surely(client, claim, &ending);
    } else if (more < 14) {
        ending = random_ending(client);
        (void)end_surely(client, claim, &ending);
    } else if (more < 17) {
        (void)load_renew(client, claim, 200, (struct claimd_bytes)CLAIMD_BYTES_ABSENT);
    }
}

static int64_t random_lease_ms(struct load_client *client) {
    return 100 + load_random_below(client, 301);
}

static void hold(struct load_client *client, const struct load_claim *claim) {
    uint32_t renewals = load_chance(client, 50) ? 0 : 1 + load_random_below(client, 2);
    for (uint32_t i = 0; i < renewals; i++) {
        struct claimd_bytes checkpoint = random_body(client, 16 * 1024);
        enum load_verdict verdict = load_renew(client, claim, random_lease_ms(client), checkpoint);
        for (unsigned n = 0; will_repeat(client, verdict, n); n++) {
            verdict = load_renew(client, claim, random_lease_ms(client), checkpoint);
        }
        if (verdict == LOAD_REFUSED) return;
    }
    if (load_chance(client, 25)) {
        // As if it had crashed; it may come back to it when somebody else has long taken over.
        client->lost[client->lost_count++ % LOAD_LOST_MAX] = *claim;
        return;
    }
    end_claim(client, claim);
}

// --- what it does -------------------------------------------------------------------------------

static void settle_unknown(struct load_client *client, const struct load_key *key) {
    static const enum claimd_resolution resolutions[] = {
        CLAIMD_RESOLVE_SUCCEEDED, CLAIMD_RESOLVE_REJECTED, CLAIMD_RESOLVE_RETRY,
        CLAIMD_RESOLVE_RETRY, CLAIMD_RESOLVE_DEAD_LETTER};
    struct claimd_bytes result = CLAIMD_BYTES_ABSENT;
    enum claimd_resolution resolution =
        resolutions[load_random_below(client, sizeof resolutions / sizeof resolutions[0])];
    if (resolution == CLAIMD_RESOLVE_SUCCEEDED || resolution == CLAIMD_RESOLVE_REJECTED) {
        result = random_body(client, LOAD_BODY_BYTES_MAX);
    }
    char reason[24];
    (void)snprintf(reason, sizeof reason, "t%" PRIx64, load_random(client));
    if (load_resolve(client, key, resolution, result, reason) == LOAD_UNSURE) {
        load_client_reconnect(client);
    }
}

static struct load_begin random_begin(struct load_client *client) {
    struct load_begin begin = {.lease_ms = random_lease_ms(client), .wait_ms = CLAIMD_UNSET_MS};
    (void)snprintf(begin.request_id, sizeof begin.request_id, "%016" PRIx64 "%016" PRIx64,
                   load_random(client), load_random(client));
    return begin;
}

static void claim_something(struct load_client *client) {
    struct load_claim claim = {.key = load_chance(client, 94) ? random_key(client)
                                                              : random_old_key(client)};
    struct load_begin begin = random_begin(client);
    struct load_begun begun = {.outcome = CLAIMD_BEGIN_UNSPECIFIED};
    if (load_chance(client, 40)) begin.wait_ms = 20 + load_random_below(client, 480);
    enum load_verdict verdict = load_begin(client, &claim.key, &begin, &begun);
    for (unsigned n = 0; will_repeat(client, verdict, n); n++) {
        verdict = load_begin(client, &claim.key, &begin, &begun);
    }
    if (verdict != LOAD_OK) return;
    claim.token = begun.token;
    if (begun.outcome == CLAIMD_BEGIN_CLAIMED) {
        hold(client, &claim);
    } else if (begun.outcome == CLAIMD_BEGIN_OUTCOME_UNKNOWN) {
        settle_unknown(client, &claim.key);
    } else if (begun.outcome == CLAIMD_BEGIN_DUPLICATE ||
               begun.outcome == CLAIMD_BEGIN_DEAD_LETTERED) {
        if (load_chance(client, 40)) slot_move_on(client, &claim.key);
    }
}

static void come_back_late(struct load_client *client) {
    if (client->lost_count == 0) return;
    uint32_t kept = client->lost_count < LOAD_LOST_MAX ? client->lost_count : LOAD_LOST_MAX;
    struct load_claim claim = client->lost[load_random_below(client, kept)];
    if (load_chance(client, 30)) {
        struct claimd_bytes checkpoint = random_body(client, 16 * 1024);
        if (load_renew(client, &claim, random_lease_ms(client), checkpoint) == LOAD_UNSURE) {
            load_client_reconnect(client);
        }
    } else {
        end_claim(client, &claim);
    }
}

static void look_ahead(struct load_client *client) {
    struct load_key key = random_key(client);
    enum load_verdict verdict;
    uint32_t way = load_random_below(client, 100);
    if (way < 40) {
        // The next key of the slot as well: registered before anybody begins it.
        key = load_key_make(key.slot, key.generation + load_random_below(client, 2));
        verdict = load_register(client, &key);
    } else if (way < 60) {
        char reason[24];
        (void)snprintf(reason, sizeof reason, "t%" PRIx64, load_random(client));
        verdict = load_cancel(client, &key, reason);
    } else {
        verdict = load_get(client, &key, NULL);
    }
    if (verdict == LOAD_UNSURE) load_client_reconnect(client);
}

void *load_client_work(void *self) {
    struct load_client *client = self;
    while (!load_gate_is_closed()) {
        uint32_t way = load_random_below(client, 100);
        if (way < 82) {
            claim_something(client);
        } else if (way < 90) {
            come_back_late(client);
        } else {
            look_ahead(client);
        }
    }
    return NULL;
}

void *load_client_sweep(void *self) {
    struct load_client *client = self;
    for (uint32_t slot = 0; !load_gate_is_closed(); slot = (slot + 1) % client->load->slots) {
        uint32_t generations = atomic_load(&client->load->generations[slot]) + 1;
        for (uint32_t n = 0; n < generations && !load_gate_is_closed(); n++) {
            struct load_key key = load_key_make(slot, n);
            if (load_get(client, &key, NULL) == LOAD_UNSURE) load_client_reconnect(client);
        }
    }
    return NULL;
}

void load_client_look(struct load_client *client) {
    for (uint32_t slot = 0; slot < client->load->slots; slot++) {
        // The one after the current one may have been registered.
        uint32_t generations = atomic_load(&client->load->generations[slot]) + 2;
        for (uint32_t n = 0; n < generations; n++) {
            struct load_key key = load_key_make(slot, n);
            struct load_begin begin = random_begin(client);
            struct load_begun begun;
            bool is_final = false;
            (void)load_get(client, &key, &is_final);
            if (is_final) (void)load_begin(client, &key, &begin, &begun);
        }
    }
}
