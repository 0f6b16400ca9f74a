// What the tests of rpc/ share: valid requests to start from, packing, and expectations.
//
// Not thread-safe.
#pragma once

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/limits.h"
#include "claimd/v1/claims.pb-c.h"
#include "claimd/v1/operations.pb-c.h"
#include "rpc/rpc_decode.h"

// What requests and decoded views live in; reset before each test.
static struct arena testing_arena;

static inline void testing_setup(void) { arena_reset(&testing_arena); }
static inline void testing_teardown(void) { arena_deinit(&testing_arena); }

static inline void *testing_alloc(size_t len) {
    void *memory = arena_alloc(&testing_arena, len);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

// A field's value from a C string.
static inline ProtobufCBinaryData testing_text(const char *text) {
    size_t len = strlen(text);
    uint8_t *copy = testing_alloc(len + 1);
    memcpy(copy, text, len);
    return (ProtobufCBinaryData){.len = len, .data = copy};
}

// len bytes of 'x'.
static inline ProtobufCBinaryData testing_fill(size_t len) {
    uint8_t *data = testing_alloc(len + 1);
    memset(data, 'x', len);
    return (ProtobufCBinaryData){.len = len, .data = data};
}

static inline struct bytes testing_pack(const void *message) {
    const ProtobufCMessage *base = message;
    size_t len = protobuf_c_message_get_packed_size(base);
    uint8_t *data = testing_alloc(len + 1);
    ck_assert_uint_eq(protobuf_c_message_pack(base, data), len);
    return (struct bytes){data, len};
}

static inline void testing_assert_bytes(struct bytes actual, const char *expected) {
    ck_assert_msg(bytes_equal(actual, bytes_of(expected)), "expected %s, got %.*s", expected,
                  (int)actual.len, (const char *)actual.data);
}

static inline void testing_assert_data(ProtobufCBinaryData actual, const char *expected) {
    testing_assert_bytes((struct bytes){actual.data, actual.len}, expected);
}

// --- expectations of decoding --------------------------------------------------------------------

// Decodes a message and expects it to be accepted.
static inline void testing_accept(rpc_decode_fn *decode, const void *message,
                                  struct engine_op *op) {
    struct rpc_fault fault = {.text = "(none)"};
    enum err err = decode(testing_pack(message), &testing_arena, op, &fault);
    ck_assert_msg(err == ERR_OK, "refused: %s: %s", fault.field, fault.text);
}

static inline void testing_assert_fault(enum err err, const struct rpc_fault *fault,
                                        const char *field, const char *limit) {
    ck_assert_msg(err == ERR_INVALID_ARGUMENT, "%s: expected a refusal, got %d", field, (int)err);
    ck_assert_str_eq(fault->field, field);
    ck_assert_msg(strstr(fault->limit, limit) != NULL, "%s: no \"%s\" in the limit \"%s\"", field,
                  limit, fault->limit);
    ck_assert_msg(strlen(fault->text) > 10, "%s: no text", field);
}

// Decodes bytes and expects a refusal that names the field and has `limit` in its limit.
static inline void testing_refuse_wire(rpc_decode_fn *decode, struct bytes wire, const char *field,
                                       const char *limit) {
    struct engine_op op = {0};
    struct rpc_fault fault = {.text = ""};
    enum err err = decode(wire, &testing_arena, &op, &fault);
    testing_assert_fault(err, &fault, field, limit);
}

static inline void testing_refuse(rpc_decode_fn *decode, const void *message, const char *field,
                                  const char *limit) {
    testing_refuse_wire(decode, testing_pack(message), field, limit);
}

// --- valid requests ------------------------------------------------------------------------------

#define TESTING_REQUEST(Type, type, variable)                                                      \
    Claimd__V1__##Type variable;                                                                   \
    claimd__v1__##type##__init(&variable);                                                         \
    variable.consumer = testing_text("billing/capture");                                           \
    variable.message_id = testing_text("pi_1:captured")

// A request of a verb that needs a token.
#define TESTING_TOKEN_REQUEST(Type, type, variable)                                                \
    TESTING_REQUEST(Type, type, variable);                                                         \
    variable.token = 17

static inline Google__Protobuf__Duration testing_duration(int64_t seconds, int32_t nanos) {
    Google__Protobuf__Duration duration;
    google__protobuf__duration__init(&duration);
    duration.seconds = seconds;
    duration.nanos = nanos;
    return duration;
}

static inline Google__Protobuf__Timestamp testing_timestamp(int64_t seconds, int32_t nanos) {
    Google__Protobuf__Timestamp timestamp;
    google__protobuf__timestamp__init(&timestamp);
    timestamp.seconds = seconds;
    timestamp.nanos = nanos;
    return timestamp;
}

// --- running -------------------------------------------------------------------------------------

// Runs the tests, and one more that must abort (NULL: none).
static inline int testing_run(const char *name, const TTest *const *tests, size_t test_count,
                              const TTest *aborting) {
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, testing_setup, testing_teardown);
    tcase_set_timeout(tcase, 120);
    for (size_t i = 0; i < test_count; i++) tcase_add_test(tcase, tests[i]);
    if (aborting != NULL) tcase_add_test_raise_signal(tcase, aborting, SIGABRT);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

#define TESTING_MAIN(name, ...)                                                                    \
    int main(void) {                                                                               \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
        return testing_run(name, tests, sizeof tests / sizeof tests[0], NULL);                     \
    }
