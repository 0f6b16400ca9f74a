// BL-31, 33, 36, 38, 39, 40: which claim is meant.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "engine/prune.h"
#include "lib/engine_calls.h"
#include "unit/rpc/rpc_testing.h"

static struct engine_fixture fixture;

static void setup(void) {
    testing_setup();
    fixture_init(&fixture);
}

static void teardown(void) {
    fixture_deinit(&fixture);
    testing_teardown();
}

static struct fixture_answer verb_do(const char *tenant, const char *consumer, const char *id,
                                     enum claim_verb verb) {
    return fixture_do(
        &fixture, &(struct fixture_request){
                      .tenant = tenant, .consumer = consumer, .id = id, .command = {.verb = verb}});
}

static void expect_claimed(const char *tenant, const char *consumer, const char *id) {
    struct fixture_answer answer = verb_do(tenant, consumer, id, CLAIM_BEGIN);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
}

// --- BL-31: a separator between scope and key does not separate ----------------------------------

START_TEST(BL_31_parts_do_not_run_into_each_other) {
    static const char *const separators[] = {
        "_", ":", "/", "|", "#", "\xC3\xBF", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "%3A", " "};
    for (size_t i = 0; i < sizeof separators / sizeof separators[0]; i++) {
        char left[64];
        char right[64];
        (void)snprintf(left, sizeof left, "a%sb", separators[i]);
        (void)snprintf(right, sizeof right, "b%sc", separators[i]);
        expect_claimed("", left, "c");
        expect_claimed("", "a", right);
        expect_claimed("a", left, "c"); // and the tenant is a part as well
        expect_claimed(left, "a", "c");
    }
    expect_claimed("", "a", "bc");
    expect_claimed("", "ab", "c");
    expect_claimed("a", "b", "c");
    expect_claimed("ab", "c", "x");
    expect_claimed("a", "bc", "x");
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture),
                      4 * sizeof separators / sizeof separators[0] + 5);
}
END_TEST

static bool prune_over;
static uint64_t pruned;

static void prune_heard(struct prune_request *request, const struct prune_progress *progress) {
    prune_over = progress->done;
    pruned = progress->removed_count;
    if (!progress->done) prune_continue(request);
}

static bool is_prune_over(void *arg) {
    (void)arg;
    return prune_over;
}

START_TEST(BL_31_a_prune_of_a_touches_only_a) {
    static const char *const consumers[] = {"a", "a_b", "aa", "a/b", "A"};
    for (size_t i = 0; i < sizeof consumers / sizeof consumers[0]; i++) {
        struct fixture_answer answer = verb_do("", consumers[i], "k", CLAIM_CANCEL);
        FIXTURE_EXPECT_ERR(answer, ERR_OK);
    }
    fixture_advance(&fixture, 1);
    struct prune_request request = {.consumer = bytes_of("a"),
                                    .before = {fake_clock_wall_ms(&fixture.clock)},
                                    .force = true,
                                    .progress = prune_heard};
    ck_assert_int_eq(prune_start(fixture.engine, &request), ERR_OK);
    fixture_turn_until(&fixture, is_prune_over, NULL);
    ck_assert_uint_eq(pruned, 1);
    expect_claimed("", "a", "k");
    for (size_t i = 1; i < sizeof consumers / sizeof consumers[0]; i++) {
        struct fixture_answer answer = verb_do("", consumers[i], "k", CLAIM_BEGIN);
        fixture_expect_outcome(&answer, CLAIM_DUPLICATE);
    }
}
END_TEST

// NUL and 0xFF are in no valid ID, and an empty part is none.
START_TEST(BL_31_what_cannot_be_an_identity_is_refused) {
    TESTING_REQUEST(BeginRequest, begin_request, request);
    request.message_id = (ProtobufCBinaryData){.len = 3, .data = (uint8_t[]){'a', 0, 'b'}};
    testing_refuse(rpc_decode_begin, &request, "message_id", "");
    request.message_id = (ProtobufCBinaryData){.len = 3, .data = (uint8_t[]){'a', 0xFF, 'b'}};
    testing_refuse(rpc_decode_begin, &request, "message_id", "");
    request.message_id = testing_text("");
    testing_refuse(rpc_decode_begin, &request, "message_id", "1 to 1024 bytes");
    request.message_id = testing_text("b");
    request.consumer = testing_text("");
    testing_refuse(rpc_decode_begin, &request, "consumer", "1 to 128 bytes");
    request.consumer = (ProtobufCBinaryData){.len = 3, .data = (uint8_t[]){'a', 0, 'b'}};
    testing_refuse(rpc_decode_begin, &request, "consumer", "");
}
END_TEST

// --- BL-33: case-insensitive ids -----------------------------------------------------------------

START_TEST(BL_33_bytes_are_compared_and_nothing_else) {
    static const char *const ids[] = {
        "api_4qD3", "api_4qd3", "API_4QD3",
        "\xC3\xA9",               // e with acute accent, composed
        "e\xCC\x81",              // and decomposed
        "\xE2\x84\xAA", "K", "k", // the Kelvin sign
        " k", "k ", "k\t",
        // A UUID in each of its spellings: only one of them is packed.
        "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6BA7B810-9DAD-11D1-80B4-00C04FD430C8",
        "6ba7b8109dad11d180b400c04fd430c8", "{6ba7b810-9dad-11d1-80b4-00c04fd430c8}",
        "\x6b\x27\x38\x10\x1d\x2d\x11\x51\x40\x34\x10\x40\x4f\x54\x30\x48", // 16 bytes of ASCII
    };
    const size_t count = sizeof ids / sizeof ids[0];
    for (size_t i = 0; i < count; i++) expect_claimed("", "c", ids[i]);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), count);
    fixture_reopen(&fixture);
    for (size_t i = 0; i < count; i++) {
        struct fixture_answer answer = verb_do("", "c", ids[i], CLAIM_BEGIN);
        fixture_expect_outcome(&answer, CLAIM_IN_FLIGHT);
    }
}
END_TEST

// --- BL-36: a very long key fails deep in the store ----------------------------------------------

// What a client sends, as far as it gets.
static enum err begin_of_len(const uint8_t *id, size_t len, struct fixture_answer *out_answer) {
    static struct fixture_call call;
    struct rpc_fault fault = {.text = ""};
    struct engine_op op = {0};
    TESTING_REQUEST(BeginRequest, begin_request, request);
    request.message_id = (ProtobufCBinaryData){.len = len, .data = testing_alloc(len)};
    memcpy(request.message_id.data, id, len);
    enum err err = rpc_decode_begin(testing_pack(&request), &testing_arena, &op, &fault);
    if (err != ERR_OK) {
        testing_assert_fault(err, &fault, "message_id", "1024");
        return err;
    }
    call = (struct fixture_call){.op = op};
    fixture_start_op(&fixture, &call);
    *out_answer = *fixture_finish(&call);
    return call.answer.err;
}

START_TEST(BL_36_the_limit_is_named_whatever_the_content) {
    static uint8_t repeated[1024 * 1024];
    static uint8_t mixed[1024 * 1024];
    static const size_t lens[] = {LIMIT_MESSAGE_ID_BYTES_MAX - 1, LIMIT_MESSAGE_ID_BYTES_MAX,
                                  LIMIT_MESSAGE_ID_BYTES_MAX + 1, 1024 * 1024};
    memset(repeated, 'a', sizeof repeated);
    for (size_t i = 0; i < sizeof mixed; i++) {
        mixed[i] = (uint8_t)('!' + (i * 2654435761u >> 9) % 90); // printable, and no pattern
    }
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        const uint8_t *const contents[] = {repeated, mixed};
        for (size_t j = 0; j < 2; j++) {
            struct fixture_answer answer;
            enum err err = begin_of_len(contents[j], lens[i], &answer);
            if (lens[i] > LIMIT_MESSAGE_ID_BYTES_MAX) {
                ck_assert_int_eq(err, ERR_INVALID_ARGUMENT);
                continue;
            }
            ck_assert_int_eq(err, ERR_OK);
            fixture_expect_outcome(&answer, CLAIM_CLAIMED);
        }
    }
    fixture_reopen(&fixture);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 4);
}
END_TEST

// --- BL-38, 40: tenants --------------------------------------------------------------------------

static struct fixture_answer as_tenant(const char *tenant, struct claim_command command) {
    return fixture_do(&fixture, &(struct fixture_request){.tenant = tenant,
                                                          .consumer = "billing",
                                                          .id = "1",
                                                          .command = command,
                                                          .include_bodies = true});
}

START_TEST(BL_38_nothing_of_another_tenant_is_visible) {
    struct fixture_answer answer = as_tenant("X", (struct claim_command){.verb = CLAIM_BEGIN});
    uint64_t token = answer.decision.record.token;
    answer = as_tenant(
        "X", (struct claim_command){
                 .verb = CLAIM_COMPLETE,
                 .token = token,
                 .result = {.present = true, .size_bytes = 6, .data = bytes_of("secret")}});
    FIXTURE_EXPECT_ERR(answer, ERR_OK);

    answer = as_tenant("Y", (struct claim_command){.verb = CLAIM_GET});
    FIXTURE_EXPECT_ERR(answer, ERR_NOT_FOUND); // not even that it exists
    ck_assert(!answer.decision.exists);
    answer = as_tenant("Y", (struct claim_command){.verb = CLAIM_COMPLETE, .token = token});
    FIXTURE_EXPECT_ERR(answer, ERR_NOT_FOUND); // its token is worth nothing here
    answer = as_tenant("Y", (struct claim_command){.verb = CLAIM_BEGIN});
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
    ck_assert_uint_eq(answer.decision.record.attempt_count, 1);
    answer = as_tenant("X", (struct claim_command){.verb = CLAIM_BEGIN});
    fixture_expect_result(&answer, bytes_of("secret"));
}
END_TEST

// The scope is the tenant, which both credentials name: the engine knows of no other.
START_TEST(BL_40_the_scope_is_the_tenant) {
    struct fixture_answer answer = as_tenant("X", (struct claim_command){.verb = CLAIM_BEGIN});
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
    answer = as_tenant("X", (struct claim_command){.verb = CLAIM_BEGIN});
    fixture_expect_outcome(&answer, CLAIM_IN_FLIGHT);
}
END_TEST

// --- BL-39: two consumers of one event share one dedup record ------------------------------------

START_TEST(BL_39_two_consumers_of_one_event_are_independent) {
    struct fixture_answer billing = verb_do("", "billing", "M", CLAIM_BEGIN);
    struct fixture_answer email = verb_do("", "email", "M", CLAIM_BEGIN);
    fixture_expect_outcome(&billing, CLAIM_CLAIMED);
    fixture_expect_outcome(&email, CLAIM_CLAIMED);
    struct fixture_answer done = fixture_do(
        &fixture, &(struct fixture_request){
                      .consumer = "billing",
                      .id = "M",
                      .command = {.verb = CLAIM_COMPLETE, .token = billing.decision.record.token}});
    FIXTURE_EXPECT_ERR(done, ERR_OK);
    struct fixture_answer answer = verb_do("", "email", "M", CLAIM_BEGIN);
    fixture_expect_outcome(&answer, CLAIM_IN_FLIGHT);
    // The one's token ends nothing of the other.
    done = fixture_do(
        &fixture, &(struct fixture_request){
                      .consumer = "email",
                      .id = "M",
                      .command = {.verb = CLAIM_COMPLETE, .token = billing.decision.record.token}});
    FIXTURE_EXPECT_ERR(done, ERR_STALE_TOKEN);
    // A request_id that is the message's ID would couple the two: it is refused.
    TESTING_REQUEST(BeginRequest, begin_request, request);
    request.request_id = request.message_id;
    testing_refuse(rpc_decode_begin, &request, "request_id", "");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("regress/identity");
    TCase *cases = tcase_create("identity");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, BL_31_parts_do_not_run_into_each_other);
    tcase_add_test(cases, BL_31_a_prune_of_a_touches_only_a);
    tcase_add_test(cases, BL_31_what_cannot_be_an_identity_is_refused);
    tcase_add_test(cases, BL_33_bytes_are_compared_and_nothing_else);
    tcase_add_test(cases, BL_36_the_limit_is_named_whatever_the_content);
    tcase_add_test(cases, BL_38_nothing_of_another_tenant_is_visible);
    tcase_add_test(cases, BL_40_the_scope_is_the_tenant);
    tcase_add_test(cases, BL_39_two_consumers_of_one_event_are_independent);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
