// Many threads that want the same claims at the same moment, through libclaimd.
//
//   concurrency_race PORT begin THREADS KEYS     all begin each key: one has it
//   concurrency_race PORT complete THREADS       all wait for a key that is then completed
//   concurrency_race PORT relay THREADS          all wait for a key, have it, and give it on
//   concurrency_race PORT lapse THREADS          all wait for a key whose holder is gone
//
// Prints what the threads were told, by outcome. Exit status 0; 1 with a line that says what is
// wrong.
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <claimd.h>

#define THREADS_MAX 256
#define KEYS_MAX 100000
#define OUTCOMES 8
#define KEYS_PER_START 25 // how often the threads line up again
#define CONSUMER "concurrency/race"
#define RESULT "the result"
#define LONG_MS 60000
#define LAPSE_MS 300
#define PATIENCE_MS 3000 // of those who wait for a claim that another one gets

struct race {
    const char *mode;
    claimd_client *client;
    uint32_t threads;
    uint32_t keys;
    pthread_barrier_t start;
    atomic_uint claimed[KEYS_MAX];
    atomic_uint outcomes[OUTCOMES];
    atomic_uint holders;      // of the key that is relayed
    _Atomic uint64_t token;   // the last one that was given
    atomic_uint attempt_last; // that was granted
};

static struct race race;

static _Noreturn void die(const char *what, const struct claimd_error *error) {
    (void)fprintf(stderr, "concurrency_race: %s: %s\n", what, error != NULL ? error->message : "");
    exit(1);
}

static uint32_t number_of(const char *text, uint32_t max) {
    uint64_t value = 0;
    for (; *text >= '0' && *text <= '9' && value <= max; text++) {
        value = value * 10 + (uint64_t)(*text - '0');
    }
    if (*text != '\0' || value < 1 || value > max) die("an argument is out of bounds", NULL);
    return (uint32_t)value;
}

// Begins and counts the outcome; the caller frees the result.
static claimd_begin_result *begin(const char *message_id, int64_t lease_ms, int64_t wait_ms) {
    struct claimd_begin_request request = CLAIMD_BEGIN_REQUEST_INIT;
    struct claimd_error error;
    claimd_begin_result *result;
    request.consumer = CONSUMER;
    request.message_id = message_id;
    request.lease_ms = lease_ms;
    request.wait_ms = wait_ms;
    request.timeout_ms = 2 * LONG_MS;
    if (claimd_begin(race.client, &request, &result, &error) != CLAIMD_OK) die("begin", &error);
    atomic_fetch_add(&race.outcomes[claimd_begin_result_outcome(result)], 1);
    return result;
}

static bool is_claimed(const claimd_begin_result *result) {
    return claimd_begin_result_outcome(result) == CLAIMD_BEGIN_CLAIMED;
}

static void complete(const char *message_id, uint64_t token) {
    struct claimd_complete_request request = CLAIMD_COMPLETE_REQUEST_INIT;
    struct claimd_error error;
    request.consumer = CONSUMER;
    request.message_id = message_id;
    request.token = token;
    request.result = claimd_bytes_of(RESULT);
    if (claimd_complete(race.client, &request, NULL, &error) != CLAIMD_OK) die("complete", &error);
}

static void release(const char *message_id, uint64_t token) {
    struct claimd_release_request request = CLAIMD_RELEASE_REQUEST_INIT;
    struct claimd_error error;
    request.consumer = CONSUMER;
    request.message_id = message_id;
    request.token = token;
    if (claimd_release(race.client, &request, NULL, &error) != CLAIMD_OK) die("release", &error);
}

// --- what a thread does -------------------------------------------------------------------------

static void begin_all_keys(void) {
    for (uint32_t key = 0; key < race.keys; key++) {
        if (key % KEYS_PER_START == 0) pthread_barrier_wait(&race.start);
        char message_id[32];
        (void)snprintf(message_id, sizeof message_id, "key-%u", key);
        claimd_begin_result *result = begin(message_id, LONG_MS, CLAIMD_UNSET_MS);
        if (is_claimed(result)) atomic_fetch_add(&race.claimed[key], 1);
        claimd_begin_result_free(result);
    }
}

static void wait_for_completion(void) {
    claimd_begin_result *result = begin("complete", LONG_MS, LONG_MS);
    struct claimd_bytes stored = claimd_begin_result_stored_result(result);
    if (claimd_begin_result_outcome(result) != CLAIMD_BEGIN_DUPLICATE ||
        stored.size != strlen(RESULT) || memcmp(stored.data, RESULT, stored.size) != 0) {
        die("a waiter did not get the result", NULL);
    }
    claimd_begin_result_free(result);
}

static void take_and_give_on(void) {
    claimd_begin_result *result = begin("relay", LONG_MS, LONG_MS);
    if (!is_claimed(result)) die("a waiter did not get its turn", NULL);
    uint64_t token = claimd_begin_result_token(result);
    if (atomic_fetch_add(&race.holders, 1) != 0) die("two hold one claim", NULL);
    if (atomic_exchange(&race.token, token) >= token) die("tokens do not rise", NULL);
    uint32_t attempt = claimd_begin_result_attempt(result);
    if (atomic_exchange(&race.attempt_last, attempt) + 1 != attempt) die("attempts jump", NULL);
    atomic_fetch_sub(&race.holders, 1);
    release("relay", token);
    claimd_begin_result_free(result);
}

static void wait_for_lapse(void) {
    claimd_begin_result *result = begin("lapse", LONG_MS, PATIENCE_MS);
    if (is_claimed(result)) {
        atomic_fetch_add(&race.claimed[0], 1);
        if (claimd_begin_result_attempt(result) != 2) die("not the second attempt", NULL);
    }
    claimd_begin_result_free(result);
}

static void *work(void *unused) {
    (void)unused;
    if (strcmp(race.mode, "begin") == 0) {
        begin_all_keys();
        return NULL;
    }
    pthread_barrier_wait(&race.start);
    if (strcmp(race.mode, "complete") == 0) wait_for_completion();
    if (strcmp(race.mode, "relay") == 0) take_and_give_on();
    if (strcmp(race.mode, "lapse") == 0) wait_for_lapse();
    return NULL;
}

// --- all together -------------------------------------------------------------------------------

// The first holder, before the others come; NULL where there is none.
static claimd_begin_result *hold(void) {
    if (strcmp(race.mode, "begin") == 0) return NULL;
    bool lapses = strcmp(race.mode, "lapse") == 0;
    claimd_begin_result *result = begin(race.mode, lapses ? LAPSE_MS : LONG_MS, CLAIMD_UNSET_MS);
    if (!is_claimed(result)) die("the first holder did not get it", NULL);
    atomic_store(&race.token, claimd_begin_result_token(result));
    atomic_store(&race.attempt_last, 1);
    return result;
}

static void let_go(const claimd_begin_result *held) {
    if (strcmp(race.mode, "complete") == 0) complete("complete", claimd_begin_result_token(held));
    if (strcmp(race.mode, "relay") == 0) release("relay", claimd_begin_result_token(held));
}

static void check(void) {
    bool counts = strcmp(race.mode, "begin") == 0 || strcmp(race.mode, "lapse") == 0;
    for (uint32_t key = 0; counts && key < race.keys; key++) {
        uint32_t claimed = atomic_load(&race.claimed[key]);
        if (claimed == 1) continue;
        (void)fprintf(stderr, "concurrency_race: key %u was claimed %u times\n", key, claimed);
        exit(1);
    }
}

int main(int argc, char **argv) {
    struct claimd_options options = CLAIMD_OPTIONS_INIT;
    struct claimd_error error;
    pthread_t threads[THREADS_MAX];
    char target[32];
    if (argc < 4 || argc > 5) die("usage: concurrency_race PORT MODE THREADS [KEYS]", NULL);
    (void)snprintf(target, sizeof target, "127.0.0.1:%u", number_of(argv[1], UINT16_MAX));
    options.target = target;
    race.mode = argv[2];
    race.threads = number_of(argv[3], THREADS_MAX);
    race.keys = argc == 5 ? number_of(argv[4], KEYS_MAX) : 1;
    if (claimd_client_open(&options, &race.client, &error) != CLAIMD_OK) die("open", &error);
    // Those who race start at once; those who wait, at once with the one who lets go.
    bool all_race = strcmp(race.mode, "begin") == 0;
    (void)pthread_barrier_init(&race.start, NULL, race.threads + (all_race ? 0 : 1));
    claimd_begin_result *held = hold();
    for (uint32_t i = 0; i < race.threads; i++) {
        if (pthread_create(&threads[i], NULL, work, NULL) != 0) die("cannot start threads", NULL);
    }
    if (held != NULL) {
        pthread_barrier_wait(&race.start);
        let_go(held);
    }
    for (uint32_t i = 0; i < race.threads; i++) pthread_join(threads[i], NULL);
    check();
    for (int i = 0; i < OUTCOMES; i++) {
        uint32_t count = atomic_load(&race.outcomes[i]);
        if (count > 0)
            printf("%s %u\n", claimd_begin_outcome_name((enum claimd_begin_outcome)i), count);
    }
    claimd_begin_result_free(held);
    claimd_client_close(race.client);
    (void)pthread_barrier_destroy(&race.start);
    return 0;
}
