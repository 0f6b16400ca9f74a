// What goes wrong on the way: which failures are repeated, with what, and what the caller is told.
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <claimd/v1/claims.pb-c.h>
#include <claimd/v1/operations.pb-c.h>

#include "client_fixture.h"

#define CALLS_MAX 64

// Refuses the first calls, each in its own way, and answers the rest.
struct refusal {
    int code;
    const char *reason; // NULL: without details
    const char *state;
    int64_t retry_ms; // -1: no RetryInfo
};

struct script {
    const struct refusal *refusals;
    unsigned refusals_count;
    struct client_fixture_details details;
    char request_ids[CALLS_MAX][40];
    unsigned calls;
    bool hang;
};

static Claimd__V1__BeginResponse claimed = CLAIMD__V1__BEGIN_RESPONSE__INIT;

static void answer(void *context, const struct fake_request *request, struct fake_reply *reply) {
    struct script *script = context;
    ck_assert_uint_lt(script->calls, CALLS_MAX);
    Claimd__V1__BeginRequest *asked =
        claimd__v1__begin_request__unpack(NULL, request->size, request->data);
    ck_assert_ptr_nonnull(asked);
    snprintf(script->request_ids[script->calls], sizeof script->request_ids[0], "%.*s",
             (int)asked->request_id.len, (const char *)asked->request_id.data);
    claimd__v1__begin_request__free_unpacked(asked, NULL);
    unsigned call = script->calls++;
    if (call >= script->refusals_count) {
        reply->hang = script->hang;
        reply->messages[0] = &claimed.base;
        reply->messages_count = 1;
        return;
    }
    const struct refusal *refusal = &script->refusals[call];
    reply->code = refusal->code;
    reply->message = "no";
    if (refusal->reason == NULL) return;
    client_fixture_details(&script->details, "claimd", refusal->reason, refusal->state,
                           refusal->retry_ms);
    reply->details = &script->details.status.base;
}

static enum claimd_status run(struct script *script, int64_t timeout_ms, bool no_retry,
                              claimd_retry_function *on_retry, void *on_retry_context,
                              struct claimd_error *error) {
    struct fake_server fake;
    fake_server_start(&fake, 0, answer, script);
    struct claimd_options options = CLAIMD_OPTIONS_INIT;
    options.target = fake.target;
    options.timeout_ms = timeout_ms;
    options.no_retry = no_retry;
    options.on_retry = on_retry;
    options.on_retry_context = on_retry_context;
    claimd_client *client;
    ck_assert_int_eq(claimd_client_open(&options, &client, NULL), CLAIMD_OK);
    struct claimd_begin_request request = CLAIMD_BEGIN_REQUEST_INIT;
    request.consumer = "c";
    request.message_id = "m";
    claimd_begin_result *result = NULL;
    enum claimd_status status = claimd_begin(client, &request, &result, error);
    ck_assert((status == CLAIMD_OK) == (result != NULL));
    claimd_begin_result_free(result);
    claimd_client_close(client);
    fake_server_stop(&fake);
    return status;
}

static void count_retries(void *context, const struct claimd_error *error, int64_t delay_ms) {
    unsigned *count = context;
    ck_assert_int_ne(error->status, CLAIMD_OK);
    ck_assert_int_ge(delay_ms, 0);
    (*count)++;
}

START_TEST(test_what_says_nothing_of_the_request_is_repeated_with_its_request_id) {
    static const struct refusal refusals[] = {
        {CLAIMD_UNAVAILABLE, NULL, NULL, -1},
        {CLAIMD_CANCELLED, NULL, NULL, -1},
        {CLAIMD_UNKNOWN, NULL, NULL, -1},
        {CLAIMD_INTERNAL, NULL, NULL, -1},
        {CLAIMD_RESOURCE_EXHAUSTED, NULL, NULL, -1},
        {CLAIMD_UNAVAILABLE, "DRAINING", NULL, 1},
    };
    struct script script = {.refusals = refusals, .refusals_count = 6};
    struct claimd_error error;
    unsigned retries = 0;
    ck_assert_int_eq(run(&script, 60000, false, count_retries, &retries, &error), CLAIMD_OK);
    ck_assert_uint_eq(retries, 6);
    ck_assert_uint_eq(script.calls, 7);
    ck_assert_uint_eq(strlen(script.request_ids[0]), 32);
    for (unsigned i = 1; i < script.calls; i++) {
        ck_assert_str_eq(script.request_ids[i], script.request_ids[0]);
    }
    ck_assert(!error.maybe_happened);
}
END_TEST

START_TEST(test_two_calls_have_two_request_ids) {
    struct script one = {0};
    struct script two = {0};
    ck_assert_int_eq(run(&one, 60000, false, NULL, NULL, NULL), CLAIMD_OK);
    ck_assert_int_eq(run(&two, 60000, false, NULL, NULL, NULL), CLAIMD_OK);
    ck_assert_str_ne(one.request_ids[0], two.request_ids[0]);
}
END_TEST

// What is answered by the service itself is final, whatever the status.
START_TEST(test_refusals_are_final_and_told) {
    static const struct {
        struct refusal refusal;
        enum claimd_state state;
        bool retryable;
        bool maybe_happened;
        bool stale;
    } rows[] = {
        {{CLAIMD_FAILED_PRECONDITION, "STALE_TOKEN", "PROCESSING", -1},
         CLAIMD_STATE_PROCESSING,
         false,
         false,
         true},
        {{CLAIMD_FAILED_PRECONDITION, "WRONG_STATE", "CLAIM_STATE_SUCCEEDED", -1},
         CLAIMD_STATE_SUCCEEDED,
         false,
         false,
         false},
        {{CLAIMD_FAILED_PRECONDITION, "WRONG_STATE", "NONSENSE", -1},
         CLAIMD_STATE_UNSPECIFIED,
         false,
         false,
         false},
        {{CLAIMD_RESOURCE_EXHAUSTED, "QUEUE_FULL", NULL, 250}, 0, true, false, false},
        {{CLAIMD_RESOURCE_EXHAUSTED, "CONSUMER_QUOTA", NULL, -1}, 0, false, false, false},
        {{CLAIMD_INTERNAL, "IO", NULL, -1}, 0, false, true, false},
        {{CLAIMD_NOT_FOUND, "NOT_FOUND", NULL, -1}, 0, false, false, false},
        {{CLAIMD_UNIMPLEMENTED, NULL, NULL, -1}, 0, false, false, false},
        {{CLAIMD_PERMISSION_DENIED, NULL, NULL, -1}, 0, false, false, false},
        {{CLAIMD_DATA_LOSS, NULL, NULL, -1}, 0, false, true, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct script script = {.refusals = &rows[i].refusal, .refusals_count = 1};
        struct claimd_error error;
        ck_assert_int_eq((int)run(&script, 60000, false, NULL, NULL, &error), rows[i].refusal.code);
        ck_assert_uint_eq(script.calls, 1);
        ck_assert_int_eq((int)error.status, rows[i].refusal.code);
        ck_assert_str_eq(error.reason,
                         rows[i].refusal.reason != NULL ? rows[i].refusal.reason : "");
        ck_assert_int_eq(error.state, rows[i].state);
        ck_assert(error.retryable == rows[i].retryable);
        ck_assert(error.maybe_happened == rows[i].maybe_happened);
        ck_assert(claimd_error_is_stale_token(&error) == rows[i].stale);
        ck_assert_int_eq(error.retry_after_ms, rows[i].refusal.retry_ms >= 0
                                                   ? rows[i].refusal.retry_ms
                                                   : CLAIMD_UNSET_MS);
        ck_assert_str_eq(error.message, "no");
    }
}
END_TEST

START_TEST(test_no_retry_means_one_try) {
    static const struct refusal refusal = {CLAIMD_UNAVAILABLE, NULL, NULL, -1};
    struct script script = {.refusals = &refusal, .refusals_count = 1};
    struct claimd_error error;
    ck_assert_int_eq(run(&script, 60000, true, NULL, NULL, &error), CLAIMD_UNAVAILABLE);
    ck_assert_uint_eq(script.calls, 1);
    ck_assert(error.retryable);
    ck_assert(error.maybe_happened);
}
END_TEST

START_TEST(test_a_doubt_is_kept_through_a_later_refusal) {
    static const struct refusal refusals[] = {
        {CLAIMD_CANCELLED, NULL, NULL, -1},
        {CLAIMD_FAILED_PRECONDITION, "FINGERPRINT_MISMATCH", NULL, -1},
    };
    struct script script = {.refusals = refusals, .refusals_count = 2};
    struct claimd_error error;
    ck_assert_int_eq(run(&script, 60000, false, NULL, NULL, &error), CLAIMD_FAILED_PRECONDITION);
    ck_assert_str_eq(error.reason, "FINGERPRINT_MISMATCH");
    ck_assert(error.maybe_happened);
}
END_TEST

START_TEST(test_a_wait_that_outlasts_the_call_is_not_begun) {
    static const struct refusal refusal = {CLAIMD_UNAVAILABLE, "DRAINING", NULL, 3600000};
    struct script script = {.refusals = &refusal, .refusals_count = 1};
    struct claimd_error error;
    ck_assert_int_eq(run(&script, 60000, false, NULL, NULL, &error), CLAIMD_UNAVAILABLE);
    ck_assert_uint_eq(script.calls, 1);
    ck_assert(!error.maybe_happened); // the service said that it did nothing
    ck_assert_int_eq(error.retry_after_ms, 3600000);
}
END_TEST

START_TEST(test_a_silent_service_ends_at_the_deadline) {
    struct script script = {.hang = true};
    struct claimd_error error;
    int64_t before_ms = claimd_clock_ms();
    ck_assert_int_eq(run(&script, 200, false, NULL, NULL, &error), CLAIMD_DEADLINE_EXCEEDED);
    ck_assert_int_ge(claimd_clock_ms() - before_ms, 199);
    ck_assert(error.retryable);
    ck_assert(error.maybe_happened);
    ck_assert_str_eq(error.reason, "");
}
END_TEST

START_TEST(test_an_absent_service_is_unavailable_until_it_comes) {
    // A port that was free a moment ago.
    struct script script = {0};
    struct fake_server fake;
    fake_server_start(&fake, 0, answer, &script);
    char target[64];
    snprintf(target, sizeof target, "%s", fake.target);
    fake_server_stop(&fake);

    struct claimd_options options = CLAIMD_OPTIONS_INIT;
    options.target = target;
    options.no_retry = true;
    claimd_client *client;
    ck_assert_int_eq(claimd_client_open(&options, &client, NULL), CLAIMD_OK);
    struct claimd_error error;
    struct claimd_get_request get = CLAIMD_GET_REQUEST_INIT;
    ck_assert_int_eq(claimd_get(client, &get, NULL, &error), CLAIMD_UNAVAILABLE);
    ck_assert(!error.maybe_happened); // a read changes nothing, whatever became of it
    claimd_client_close(client);

    client = client_fixture_open(target);
    int port = 0;
    ck_assert_int_eq(sscanf(target, "127.0.0.1:%d", &port), 1);
    fake_server_start(&fake, port, answer, &script);
    struct claimd_begin_request begin = CLAIMD_BEGIN_REQUEST_INIT;
    claimd_begin_result *result;
    ck_assert_int_eq(claimd_begin(client, &begin, &result, &error), CLAIMD_OK);
    claimd_begin_result_free(result);
    fake_server_stop(&fake);
    // The same client, when the service is back on the same port.
    fake_server_start(&fake, port, answer, &script);
    ck_assert_int_eq(claimd_begin(client, &begin, &result, &error), CLAIMD_OK);
    claimd_begin_result_free(result);
    claimd_client_close(client);
    fake_server_stop(&fake);
}
END_TEST

// A service in a process of its own, since gRPC's I/O is the process's: a server's thread would do
// a client's part. It tells its port, is absent until it is told to come, and ends with the pipe.
static void serve_late(int port_to, int told_by) {
    struct fake_server fake;
    struct script script = {0};
    int port = 0;
    char word;
    fake_server_start(&fake, 0, answer, &script);
    ck_assert_int_eq(sscanf(fake.target, "127.0.0.1:%d", &port), 1);
    fake_server_stop(&fake);
    ck_assert_int_eq(write(port_to, &port, sizeof port), sizeof port);
    if (read(told_by, &word, 1) == 1) {
        fake_server_start(&fake, port, answer, &script);
        ck_assert_int_eq(read(told_by, &word, 1), 0);
        fake_server_stop(&fake);
    }
}

static void tell_once(void *context, const struct claimd_error *error, int64_t delay_ms) {
    int *to = context;
    ck_assert_int_eq(error->status, CLAIMD_UNAVAILABLE);
    (void)delay_ms;
    if (*to >= 0) ck_assert_int_eq(write(*to, "!", 1), 1);
    *to = -1;
}

// gRPC by itself looks at a connection that nobody waits for every 5 s: a call that ends before
// that succeeds only if the library goes on connecting between its tries.
START_TEST(test_a_service_that_comes_is_found_at_once) {
    int ports[2];
    int words[2];
    ck_assert_int_eq(pipe(ports), 0);
    ck_assert_int_eq(pipe(words), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        close(words[1]);
        serve_late(ports[1], words[0]);
        _exit(EXIT_SUCCESS);
    }
    int port = 0;
    ck_assert_int_eq(read(ports[0], &port, sizeof port), sizeof port);
    char target[64];
    snprintf(target, sizeof target, "127.0.0.1:%d", port);
    int tell_to = words[1];
    struct claimd_options options = CLAIMD_OPTIONS_INIT;
    options.target = target;
    options.timeout_ms = 4500;
    options.on_retry = tell_once;
    options.on_retry_context = &tell_to;
    claimd_client *client;
    ck_assert_int_eq(claimd_client_open(&options, &client, NULL), CLAIMD_OK);
    struct claimd_begin_request begin = CLAIMD_BEGIN_REQUEST_INIT;
    claimd_begin_result *result = NULL;
    ck_assert_int_eq(claimd_begin(client, &begin, &result, NULL), CLAIMD_OK);
    ck_assert_int_eq(tell_to, -1);
    claimd_begin_result_free(result);
    claimd_client_close(client);
    close(words[1]);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

static void answer_garbage(void *context, const struct fake_request *request,
                           struct fake_reply *reply) {
    (void)request;
    reply->raw = context;
}

START_TEST(test_a_garbled_answer_is_an_error_and_not_repeated) {
    static char truncated[] = "\x12\x7Fx";
    char *const answers[] = {truncated, NULL};
    for (size_t i = 0; i < 2; i++) {
        struct fake_server fake;
        fake_server_start(&fake, 0, answer_garbage, answers[i]);
        claimd_client *client = client_fixture_open(fake.target);
        struct claimd_begin_request begin = CLAIMD_BEGIN_REQUEST_INIT;
        struct claimd_error error;
        claimd_begin_result *result = NULL;
        ck_assert_int_eq(claimd_begin(client, &begin, &result, &error), CLAIMD_INTERNAL);
        ck_assert(error.maybe_happened);
        ck_assert(!error.retryable);
        ck_assert_uint_eq(fake.calls, 1);
        claimd_client_close(client);
        fake_server_stop(&fake);
    }
}
END_TEST

static void answer_strangely(void *context, const struct fake_request *request,
                             struct fake_reply *reply) {
    (void)request;
    reply->code = CLAIMD_FAILED_PRECONDITION;
    reply->details = context;
}

START_TEST(test_details_of_others_are_not_taken_for_claimds) {
    struct client_fixture_details details;
    client_fixture_details(&details, "example.com", "STALE_TOKEN", "PROCESSING", -1);
    struct fake_server fake;
    fake_server_start(&fake, 0, answer_strangely, &details.status.base);
    claimd_client *client = client_fixture_open(fake.target);
    struct claimd_complete_request complete = CLAIMD_COMPLETE_REQUEST_INIT;
    struct claimd_error error;
    ck_assert_int_eq(claimd_complete(client, &complete, NULL, &error), CLAIMD_FAILED_PRECONDITION);
    ck_assert_str_eq(error.reason, "");
    ck_assert_int_eq(error.state, CLAIMD_STATE_UNSPECIFIED);
    ck_assert(!claimd_error_is_stale_token(&error));
    claimd_client_close(client);
    fake_server_stop(&fake);
}
END_TEST

START_TEST(test_bad_options_and_requests_are_refused_here) {
    struct claimd_error error;
    claimd_client *client = NULL;
    struct claimd_options options = CLAIMD_OPTIONS_INIT;
    ck_assert_int_eq(claimd_client_open(&options, &client, &error), CLAIMD_INVALID_ARGUMENT);
    ck_assert_str_eq(error.field, "target");
    options.target = "127.0.0.1:1";
    options.timeout_ms = 0;
    ck_assert_int_eq(claimd_client_open(&options, &client, &error), CLAIMD_INVALID_ARGUMENT);
    ck_assert_str_eq(error.field, "timeout_ms");
    options.timeout_ms = CLAIMD_UNSET_MS;
    ck_assert_int_eq(claimd_client_open(&options, NULL, &error), CLAIMD_INVALID_ARGUMENT);
    ck_assert_int_eq(claimd_client_open(NULL, &client, &error), CLAIMD_INVALID_ARGUMENT);
    ck_assert_int_eq(claimd_client_open(&options, &client, &error), CLAIMD_OK);

    struct claimd_begin_request begin = CLAIMD_BEGIN_REQUEST_INIT;
    claimd_begin_result *result = NULL;
    ck_assert_int_eq(claimd_begin(client, NULL, &result, &error), CLAIMD_INVALID_ARGUMENT);
    ck_assert_int_eq(claimd_begin(client, &begin, NULL, &error), CLAIMD_INVALID_ARGUMENT);
    begin.timeout_ms = 0;
    ck_assert_int_eq(claimd_begin(client, &begin, &result, &error), CLAIMD_INVALID_ARGUMENT);
    ck_assert_str_eq(error.field, "timeout_ms");
    begin.timeout_ms = CLAIMD_UNSET_MS;
    begin.struct_size = 0; // zeroed instead of started from the macro
    ck_assert_int_eq(claimd_begin(client, &begin, &result, &error), CLAIMD_INVALID_ARGUMENT);
    ck_assert_str_eq(error.field, "struct_size");
    begin.struct_size = sizeof begin + 8; // compiled with a newer header
    ck_assert_int_eq(claimd_begin(client, &begin, &result, &error), CLAIMD_INVALID_ARGUMENT);
    struct claimd_complete_request complete = CLAIMD_COMPLETE_REQUEST_INIT;
    char *large = calloc(1, 5 << 20);
    complete.result = (struct claimd_bytes){large, 5 << 20};
    ck_assert_int_eq(claimd_complete(client, &complete, NULL, &error), CLAIMD_INVALID_ARGUMENT);
    ck_assert(!error.maybe_happened);
    free(large);
    ck_assert_ptr_null(result);
    claimd_client_close(client);
    claimd_client_close(NULL);
}
END_TEST

#define THREADS 16
#define CALLS_PER_THREAD 50

static void answer_echo(void *context, const struct fake_request *request,
                        struct fake_reply *reply) {
    static Claimd__V1__Claim claim = CLAIMD__V1__CLAIM__INIT;
    static Claimd__V1__GetClaimResponse response = CLAIMD__V1__GET_CLAIM_RESPONSE__INIT;
    static char message_id[64];
    (void)context;
    Claimd__V1__GetClaimRequest *asked =
        claimd__v1__get_claim_request__unpack(NULL, request->size, request->data);
    claim.message_id.len = asked->message_id.len;
    claim.message_id.data = (uint8_t *)message_id;
    memcpy(message_id, asked->message_id.data, asked->message_id.len);
    claimd__v1__get_claim_request__free_unpacked(asked, NULL);
    response.claim = &claim;
    reply->messages[0] = &response.base;
    reply->messages_count = 1;
}

struct caller {
    pthread_t thread;
    claimd_client *client;
    int number;
    int wrong;
};

static void *call_often(void *self) {
    struct caller *caller = self;
    for (int i = 0; i < CALLS_PER_THREAD; i++) {
        char message_id[64];
        snprintf(message_id, sizeof message_id, "m-%d-%d", caller->number, i);
        struct claimd_get_request request = CLAIMD_GET_REQUEST_INIT;
        request.consumer = "c";
        request.message_id = message_id;
        claimd_get_result *result = NULL;
        if (claimd_get(caller->client, &request, &result, NULL) != CLAIMD_OK ||
            strcmp(claimd_claim_message_id(claimd_get_result_claim(result)), message_id) != 0) {
            caller->wrong++;
        }
        claimd_get_result_free(result);
    }
    return NULL;
}

START_TEST(test_threads_share_a_client) {
    struct fake_server fake;
    fake_server_start(&fake, 0, answer_echo, NULL);
    claimd_client *client = client_fixture_open(fake.target);
    struct caller callers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.client = client, .number = i};
        ck_assert_int_eq(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(callers[i].thread, NULL), 0);
        ck_assert_int_eq(callers[i].wrong, 0);
    }
    claimd_client_close(client);
    fake_server_stop(&fake);
    ck_assert_uint_eq(fake.calls, THREADS * CALLS_PER_THREAD);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("retry");
    TCase *tcase = tcase_create("retry");
    tcase_set_timeout(tcase, 0); // the runner's limit holds
    tcase_add_test(tcase, test_what_says_nothing_of_the_request_is_repeated_with_its_request_id);
    tcase_add_test(tcase, test_two_calls_have_two_request_ids);
    tcase_add_test(tcase, test_refusals_are_final_and_told);
    tcase_add_test(tcase, test_no_retry_means_one_try);
    tcase_add_test(tcase, test_a_doubt_is_kept_through_a_later_refusal);
    tcase_add_test(tcase, test_a_wait_that_outlasts_the_call_is_not_begun);
    tcase_add_test(tcase, test_a_silent_service_ends_at_the_deadline);
    tcase_add_test(tcase, test_an_absent_service_is_unavailable_until_it_comes);
    tcase_add_test(tcase, test_a_service_that_comes_is_found_at_once);
    tcase_add_test(tcase, test_a_garbled_answer_is_an_error_and_not_repeated);
    tcase_add_test(tcase, test_details_of_others_are_not_taken_for_claimds);
    tcase_add_test(tcase, test_bad_options_and_requests_are_refused_here);
    tcase_add_test(tcase, test_threads_share_a_client);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
