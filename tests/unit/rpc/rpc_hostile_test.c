// Whatever a client sends, nothing crashes, and what is accepted is within its bounds: random
// bytes, random fields, and valid requests with some of their bits and bytes changed.
//
// A run prints its seed; CLAIMD_TEST_SEED=N repeats it.
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rand.h"
#include "unit/rpc/rpc_testing.h"

#define ROUNDS 4000
#define WIRE_MAX 512

static struct rand dice;
static uint64_t accepted_count;

static uint32_t below(uint32_t bound) { return (uint32_t)(rand_u64(&dice) % bound); }

static uint64_t seed_of_run(void) {
    const char *text = getenv("CLAIMD_TEST_SEED");
    uint64_t seed = 0;
    for (; text != NULL && *text >= '0' && *text <= '9'; text++) {
        seed = seed * 10 + (uint64_t)(*text - '0');
    }
    if (seed == 0) {
        struct rand kernel = rand_from_kernel();
        seed = rand_u64(&kernel) >> 1;
    }
    return seed;
}

// --- what holds of anything accepted -------------------------------------------------------------

static void assert_text(struct bytes text, size_t max) {
    ck_assert_uint_le(text.len, max);
    ck_assert(bytes_is_utf8(text));
}

static void assert_ms(struct optional_ms value, int64_t min, int64_t max) {
    if (!value.present) return;
    ck_assert_int_ge(value.ms, min);
    ck_assert_int_le(value.ms, max);
}

static void assert_body(const struct claim_body *body, size_t max) {
    ck_assert_uint_le(body->data.len, max);
    ck_assert_uint_eq(body->data.len, body->size_bytes);
    ck_assert(body->present || body->data.len == 0);
    ck_assert(!body->in_blob && !body->expired);
}

static void assert_bounded(const struct engine_op *op) {
    const struct claim_command *cmd = &op->command;
    bool needs_token = cmd->verb == CLAIM_COMPLETE || cmd->verb == CLAIM_REJECT ||
                       cmd->verb == CLAIM_FAIL || cmd->verb == CLAIM_RENEW ||
                       cmd->verb == CLAIM_RELEASE;
    ck_assert_ptr_null(identity_consumer_fault(op->identity.consumer));
    ck_assert_ptr_null(identity_message_id_fault(op->identity.message_id));
    ck_assert_int_eq(cmd->token != 0, needs_token);
    ck_assert_uint_le(cmd->token, (uint64_t)LIMIT_TOKEN_MAX);
    assert_ms(cmd->lease, LIMIT_LEASE_MS_MIN, LIMIT_LEASE_MS_MAX);
    assert_ms(op->wait, 1, LIMIT_WAIT_MS_MAX);
    assert_ms(cmd->retry_after, 0, LIMIT_RETRY_AFTER_MS_MAX);
    assert_text(cmd->owner, LIMIT_OWNER_BYTES_MAX);
    assert_text(cmd->request_id, LIMIT_REQUEST_ID_BYTES_MAX);
    assert_text(cmd->payload_ref, LIMIT_PAYLOAD_REF_BYTES_MAX);
    assert_text(cmd->reason, LIMIT_REASON_BYTES_MAX);
    assert_text(cmd->message, LIMIT_REQUEST_BYTES_MAX);
    ck_assert_uint_le(cmd->fingerprint.len, LIMIT_FINGERPRINT_BYTES_MAX);
    ck_assert(!bytes_equal(cmd->request_id, op->identity.message_id));
    ck_assert(!cmd->reclaim || cmd->owner.len > 0);
    assert_body(&cmd->result, LIMIT_RESULT_BYTES_MAX);
    assert_body(&cmd->payload, LIMIT_PAYLOAD_BYTES_MAX);
    assert_body(&cmd->checkpoint, LIMIT_CHECKPOINT_BYTES_MAX);
    if (cmd->verb == CLAIM_FAIL) {
        ck_assert(cmd->fail_kind >= FAIL_TRANSIENT && cmd->fail_kind <= FAIL_OUTCOME_UNKNOWN);
    }
    if (cmd->verb == CLAIM_RESOLVE) {
        ck_assert(cmd->resolution >= CLAIM_AS_SUCCEEDED && cmd->resolution <= CLAIM_AS_DEAD_LETTER);
    }
}

static void assert_answer(enum err err, const struct rpc_fault *fault) {
    ck_assert(err == ERR_OK || err == ERR_INVALID_ARGUMENT);
    if (err == ERR_OK) {
        accepted_count++;
        return;
    }
    ck_assert_str_ne(fault->field, "");
    ck_assert_str_ne(fault->text, "");
    ck_assert_ptr_nonnull(memchr(fault->field, 0, sizeof fault->field));
    ck_assert_ptr_nonnull(memchr(fault->limit, 0, sizeof fault->limit));
    ck_assert_ptr_nonnull(memchr(fault->text, 0, sizeof fault->text));
    struct rpc_status status;
    rpc_status_make(&(struct rpc_status_cause){.err = err, .fault = fault}, &status);
    ck_assert(bytes_is_utf8(bytes_of(status.message)));
}

// --- one request after another -------------------------------------------------------------------

static rpc_decode_fn *const decoders[] = {
    rpc_decode_begin,   rpc_decode_complete,  rpc_decode_reject,   rpc_decode_fail,
    rpc_decode_renew,   rpc_decode_release,   rpc_decode_register, rpc_decode_cancel,
    rpc_decode_resolve, rpc_decode_get_claim,
};
#define DECODER_COUNT (sizeof decoders / sizeof decoders[0])

// Decodes from memory of exactly this size, so that a sanitizer sees one byte too far.
static void feed(size_t decoder, const uint8_t *wire, size_t len) {
    uint8_t *exact = mem_alloc(len);
    struct arena arena = {0};
    struct rpc_fault fault = {.text = ""};
    memcpy(exact, wire, len);
    if (decoder < DECODER_COUNT) {
        struct engine_op op = {0};
        enum err err = decoders[decoder]((struct bytes){exact, len}, &arena, &op, &fault);
        mem_free(exact); // what was decoded must not depend on it
        exact = NULL;
        assert_answer(err, &fault);
        if (err == ERR_OK) assert_bounded(&op);
    } else {
        struct prune_request request = {0};
        enum err err = rpc_decode_prune((struct bytes){exact, len}, &arena, &request, &fault);
        assert_answer(err, &fault);
        if (err == ERR_OK && request.consumer.len > 0) {
            ck_assert_ptr_null(identity_consumer_fault(request.consumer));
        }
    }
    mem_free(exact);
    arena_deinit(&arena);
}

static size_t put_varint(uint8_t *out, uint64_t value) {
    size_t len = 0;
    for (; value > 0x7F; value >>= 7) out[len++] = (uint8_t)(value | 0x80);
    out[len++] = (uint8_t)value;
    return len;
}

// Fields that look like some: small numbers, any wire type, lengths that mostly hold.
static size_t random_fields(uint8_t *wire, size_t max) {
    size_t len = 0;
    uint32_t count = below(24);
    for (uint32_t i = 0; i < count && len + 64 < max; i++) {
        uint32_t type = below(8) == 0 ? below(8) : below(2) * 2;
        len += put_varint(wire + len, (uint64_t)(1 + below(12)) << 3 | type);
        if (type == 0) {
            len += put_varint(wire + len, rand_u64(&dice) >> below(64));
        } else {
            uint32_t body = below(24);
            len += put_varint(wire + len, below(16) == 0 ? rand_u64(&dice) >> below(64) : body);
            for (uint32_t j = 0; j < body; j++)
                wire[len++] = (uint8_t)(below(3) == 0 ? below(256) : 'a');
        }
    }
    return len;
}

START_TEST(random_bytes_and_fields) {
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t decoder = 0; decoder <= DECODER_COUNT; decoder++) {
            uint8_t wire[WIRE_MAX];
            size_t len = below(64);
            for (size_t i = 0; i < len; i++) wire[i] = (uint8_t)below(256);
            feed(decoder, wire, len);
            feed(decoder, wire, random_fields(wire, sizeof wire));
        }
    }
}
END_TEST

// --- changed requests ----------------------------------------------------------------------------

static size_t mutate(uint8_t *wire, size_t len) {
    uint32_t changes = 1 + below(4);
    for (uint32_t i = 0; i < changes && len > 0; i++) {
        uint32_t at = below((uint32_t)len);
        switch (below(5)) {
        case 0:
        case 1:
            wire[at] = (uint8_t)(wire[at] ^ (1u << below(8)));
            break;
        case 2:
            wire[at] = (uint8_t)below(256);
            break;
        case 3:
            len = at; // cut
            break;
        case 4: // a piece once more
            if (len + 8 < WIRE_MAX && at + 8 <= len) {
                memmove(wire + at + 8, wire + at, len - at);
                len += 8;
            }
            break;
        default:
            break;
        }
    }
    return len;
}

// The valid request of each decoder, with all its fields.
static struct bytes valid_request(size_t decoder) {
    Google__Protobuf__Duration span = testing_duration(30, 500);
    Google__Protobuf__Timestamp time = testing_timestamp(1700000000, 7);
    TESTING_REQUEST(BeginRequest, begin_request, begin);
    begin.lease = begin.wait = &span;
    begin.event_time = &time;
    begin.owner = testing_text("worker-7");
    begin.request_id = testing_text("r-1");
    begin.fingerprint = testing_text("f");
    begin.payload_ref = testing_text("topic/1/2");
    begin.replay = begin.reclaim = 1;
    TESTING_TOKEN_REQUEST(CompleteRequest, complete_request, complete);
    complete.optional_result_case = CLAIMD__V1__COMPLETE_REQUEST__OPTIONAL_RESULT_RESULT;
    complete.result = testing_text("paid");
    TESTING_TOKEN_REQUEST(RejectRequest, reject_request, reject);
    reject.reason = testing_text("no funds");
    TESTING_TOKEN_REQUEST(FailRequest, fail_request, fail);
    fail.kind = CLAIMD__V1__FAILURE_KIND__FAILURE_KIND_TRANSIENT;
    fail.message = testing_text("503 \xe2\x82\xac");
    fail.retry_after = &span;
    fail.optional_payload_case = CLAIMD__V1__FAIL_REQUEST__OPTIONAL_PAYLOAD_PAYLOAD;
    fail.payload = testing_text("{}");
    TESTING_TOKEN_REQUEST(RenewRequest, renew_request, renew);
    renew.lease = &span;
    renew.optional_checkpoint_case = CLAIMD__V1__RENEW_REQUEST__OPTIONAL_CHECKPOINT_CHECKPOINT;
    renew.checkpoint = testing_text("half");
    TESTING_TOKEN_REQUEST(ReleaseRequest, release_request, release);
    TESTING_REQUEST(RegisterRequest, register_request, reg);
    reg.event_time = &time;
    reg.payload_ref = testing_text("topic/1/2");
    TESTING_REQUEST(CancelRequest, cancel_request, cancel);
    cancel.reason = testing_text("withdrawn");
    TESTING_REQUEST(ResolveRequest, resolve_request, resolve);
    resolve.resolution = CLAIMD__V1__RESOLUTION__RESOLUTION_SUCCEEDED;
    resolve.optional_result_case = CLAIMD__V1__RESOLVE_REQUEST__OPTIONAL_RESULT_RESULT;
    TESTING_REQUEST(GetClaimRequest, get_claim_request, get);
    get.include_bodies = 1;
    Claimd__V1__PruneRequest prune = CLAIMD__V1__PRUNE_REQUEST__INIT;
    prune.consumer = testing_text("billing/capture");
    prune.before = &time;
    prune.dry_run = prune.force = 1;
    const void *const requests[] = {&begin, &complete, &reject,  &fail, &renew, &release,
                                    &reg,   &cancel,   &resolve, &get,  &prune};
    _Static_assert(sizeof requests / sizeof requests[0] == DECODER_COUNT + 1, "one each");
    return testing_pack(requests[decoder]);
}

START_TEST(changed_requests) {
    for (size_t decoder = 0; decoder <= DECODER_COUNT; decoder++) {
        struct bytes valid = valid_request(decoder);
        uint8_t wire[WIRE_MAX];
        ck_assert_uint_lt(valid.len, sizeof wire);
        accepted_count = 0;
        feed(decoder, valid.data, valid.len);
        ck_assert_uint_eq(accepted_count, 1);
        for (size_t round = 0; round < 4 * ROUNDS; round++) {
            memcpy(wire, valid.data, valid.len);
            feed(decoder, wire, mutate(wire, valid.len));
        }
        // Some changes do no harm, most do: otherwise this tests nothing.
        ck_assert_uint_gt(accepted_count, ROUNDS / 100);
        ck_assert_uint_lt(accepted_count, 3 * ROUNDS);
    }
}
END_TEST

START_TEST(every_bit_of_every_request) {
    for (size_t decoder = 0; decoder <= DECODER_COUNT; decoder++) {
        struct bytes valid = valid_request(decoder);
        uint8_t wire[WIRE_MAX];
        for (size_t bit = 0; bit < 8 * valid.len; bit++) {
            memcpy(wire, valid.data, valid.len);
            wire[bit / 8] = (uint8_t)(wire[bit / 8] ^ (1u << (bit % 8)));
            feed(decoder, wire, valid.len);
        }
    }
}
END_TEST

int main(void) {
    uint64_t seed = seed_of_run();
    printf("CLAIMD_TEST_SEED=%" PRIu64 "\n", seed);
    (void)fflush(stdout);
    dice = rand_from_seed(seed);
    const TTest *const tests[] = {random_bytes_and_fields, changed_requests,
                                  every_bit_of_every_request};
    return testing_run("rpc_hostile", tests, sizeof tests / sizeof tests[0], NULL);
}
