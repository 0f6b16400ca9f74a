#include "engine_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "base/check.h"
#include "base/scope.h"
#include "codec/record_codec.h"
#include "engine/engine_private.h"
#include "store/store_scan.h"

// --- answers ------------------------------------------------------------------------------------

static void keep(struct arena *arena, struct bytes *view) {
    struct bytes copy;
    CHECK(arena_copy(arena, *view, &copy) == ERR_OK);
    *view = copy;
}

// Makes the record's views borrow from the arena.
static void keep_record(struct arena *arena, struct claim_record *record) {
    keep(arena, &record->attempt.owner);
    keep(arena, &record->attempt.error);
    for (uint32_t i = 0; i < record->earlier_count; i++) {
        keep(arena, &record->earlier[i].owner);
        keep(arena, &record->earlier[i].error);
    }
    keep(arena, &record->request_id);
    keep(arena, &record->fingerprint);
    keep(arena, &record->payload_ref);
    keep(arena, &record->last_error.message);
    keep(arena, &record->reason);
    keep(arena, &record->result.data);
    keep(arena, &record->checkpoint.data);
    keep(arena, &record->payload.data);
}

static void call_done(struct engine_op *op) {
    struct fixture_call *call = CONTAINER_OF(op, struct fixture_call, op);
    struct engine_fixture *fixture = call->fixture;
    ck_assert_msg(!call->done, "done ran twice");
    call->done = true;
    call->done_order = ++fixture->done_count;
    call->answer = (struct fixture_answer){
        .err = op->err, .decision = op->decision, .now = op->now, .wall_now = op->wall_now};
    if (op->decision.exists) keep_record(&fixture->answers, &call->answer.decision.record);
    engine_op_release(fixture->engine, op);
}

void fixture_forget(struct engine_fixture *fixture) { arena_deinit(&fixture->answers); }

// --- calls --------------------------------------------------------------------------------------

void fixture_start_op(struct engine_fixture *fixture, struct fixture_call *call) {
    call->fixture = fixture;
    call->done = false;
    call->op.done = call_done;
    ck_assert_int_eq(engine_submit(fixture->engine, &call->op), ERR_OK);
    ck_assert_msg(!call->done, "done ran inside engine_submit");
}

static struct bytes text_or(const char *text, const char *otherwise) {
    return bytes_of(text == NULL ? otherwise : text);
}

void fixture_start(struct engine_fixture *fixture, struct fixture_call *call,
                   const struct fixture_request *request) {
    *call = (struct fixture_call){
        .op = {.identity = {.tenant = text_or(request->tenant, ""),
                            .consumer = text_or(request->consumer, FIXTURE_CONSUMER),
                            .message_id = bytes_of(request->id)},
               .command = request->command,
               .wait = {.present = request->wait_ms > 0, .ms = request->wait_ms},
               .replay = request->replay,
               .include_bodies = request->include_bodies}};
    fixture_start_op(fixture, call);
}

static bool is_done(void *arg) {
    const struct fixture_call *call = arg;
    return call->done;
}

const struct fixture_answer *fixture_finish(struct fixture_call *call) {
    fixture_turn_until(call->fixture, is_done, call);
    return &call->answer;
}

bool fixture_is_parked(const struct fixture_call *call) {
    return !call->done && call->op.engine->stage == OP_PARKED;
}

struct fixture_answer fixture_do(struct engine_fixture *fixture,
                                 const struct fixture_request *request) {
    struct fixture_call call;
    fixture_start(fixture, &call, request);
    return *fixture_finish(&call);
}

// --- the verbs ----------------------------------------------------------------------------------

static struct fixture_answer command_do(struct engine_fixture *fixture, const char *id,
                                        enum claim_verb verb, struct claim_command arguments) {
    arguments.verb = verb;
    return fixture_do(fixture, &(struct fixture_request){.id = id, .command = arguments});
}

static struct claim_body body_or_absent(const char *text) {
    if (text == NULL) return (struct claim_body){.present = false};
    struct bytes data = bytes_of(text);
    return (struct claim_body){.present = true, .size_bytes = (uint32_t)data.len, .data = data};
}

struct fixture_answer fixture_begin(struct engine_fixture *fixture, const char *id,
                                    struct claim_command arguments) {
    return command_do(fixture, id, CLAIM_BEGIN, arguments);
}

struct fixture_answer fixture_begin_for(struct engine_fixture *fixture, const char *id,
                                        int64_t lease_ms) {
    return fixture_begin(fixture, id, (struct claim_command){.lease = {true, lease_ms}});
}

uint64_t fixture_claim(struct engine_fixture *fixture, const char *id, int64_t lease_ms) {
    struct fixture_answer answer = fixture_begin_for(fixture, id, lease_ms);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
    return answer.decision.record.token;
}

struct fixture_answer fixture_complete(struct engine_fixture *fixture, const char *id,
                                       uint64_t token, const char *result) {
    return command_do(fixture, id, CLAIM_COMPLETE,
                      (struct claim_command){.token = token, .result = body_or_absent(result)});
}

struct fixture_answer fixture_reject(struct engine_fixture *fixture, const char *id, uint64_t token,
                                     const char *reason) {
    return command_do(fixture, id, CLAIM_REJECT,
                      (struct claim_command){.token = token, .reason = bytes_of(reason)});
}

struct fixture_answer fixture_fail(struct engine_fixture *fixture, const char *id, uint64_t token,
                                   enum fail_kind kind) {
    return command_do(fixture, id, CLAIM_FAIL,
                      (struct claim_command){.token = token,
                                             .fail_kind = kind,
                                             .message = bytes_of("it did not work")});
}

struct fixture_answer fixture_fail_after(struct engine_fixture *fixture, const char *id,
                                         uint64_t token, int64_t retry_after_ms) {
    return command_do(fixture, id, CLAIM_FAIL,
                      (struct claim_command){.token = token,
                                             .fail_kind = FAIL_TRANSIENT,
                                             .message = bytes_of("try again"),
                                             .retry_after = {true, retry_after_ms}});
}

struct fixture_answer fixture_renew(struct engine_fixture *fixture, const char *id, uint64_t token,
                                    int64_t lease_ms) {
    return command_do(fixture, id, CLAIM_RENEW,
                      (struct claim_command){.token = token, .lease = {true, lease_ms}});
}

struct fixture_answer fixture_release(struct engine_fixture *fixture, const char *id,
                                      uint64_t token) {
    return command_do(fixture, id, CLAIM_RELEASE, (struct claim_command){.token = token});
}

struct fixture_answer fixture_resolve(struct engine_fixture *fixture, const char *id,
                                      enum claim_resolution resolution) {
    return command_do(
        fixture, id, CLAIM_RESOLVE,
        (struct claim_command){.resolution = resolution, .reason = bytes_of("somebody looked")});
}

struct fixture_answer fixture_get(struct engine_fixture *fixture, const char *id) {
    return fixture_do(fixture, &(struct fixture_request){.id = id,
                                                         .command = {.verb = CLAIM_GET},
                                                         .include_bodies = true});
}

void fixture_succeed(struct engine_fixture *fixture, const char *id, const char *result) {
    uint64_t token = fixture_claim(fixture, id, 30000);
    struct fixture_answer answer = fixture_complete(fixture, id, token, result);
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
}

#define MANY_AT_A_TIME 1024u

struct many {
    struct fixture_call call;
    char id[48];
};

// One command for each of some identities; the token is what the call before it got.
static void many_do(struct engine_fixture *fixture, struct many *many, unsigned count,
                    struct claim_command command) {
    for (unsigned i = 0; i < count; i++) {
        command.token = many[i].call.answer.decision.record.token;
        fixture_start(fixture, &many[i].call,
                      &(struct fixture_request){.id = many[i].id, .command = command});
    }
    for (unsigned i = 0; i < count; i++) {
        FIXTURE_EXPECT_ERR(*fixture_finish(&many[i].call), ERR_OK);
    }
    fixture_forget(fixture);
}

void fixture_succeed_many(struct engine_fixture *fixture, const char *prefix, unsigned count,
                          const char *result) {
    struct many *many = calloc(MANY_AT_A_TIME, sizeof *many);
    CHECK(many != NULL);
    for (unsigned done = 0; done < count;) {
        unsigned now = count - done < MANY_AT_A_TIME ? count - done : MANY_AT_A_TIME;
        for (unsigned i = 0; i < now; i++) {
            (void)snprintf(many[i].id, sizeof many[i].id, "%.32s%u", prefix, done + i);
        }
        many_do(fixture, many, now, (struct claim_command){.verb = CLAIM_BEGIN});
        many_do(fixture, many, now,
                (struct claim_command){.verb = CLAIM_COMPLETE, .result = body_or_absent(result)});
        done += now;
    }
    free(many);
}

// --- what tests ask of an answer ----------------------------------------------------------------

enum claim_state fixture_state(const struct fixture_answer *answer) {
    return answer->decision.exists ? answer->decision.record.state : (enum claim_state)0;
}

int64_t fixture_lease_left_ms(const struct fixture_answer *answer) {
    ck_assert_int_eq(fixture_state(answer), CLAIM_PROCESSING);
    return answer->decision.record.lease_expires_at.ms - answer->now.ms;
}

int64_t fixture_delay_left_ms(const struct fixture_answer *answer) {
    ck_assert_int_eq(fixture_state(answer), CLAIM_RETRYING);
    return answer->decision.record.next_attempt_at.ms - answer->now.ms;
}

void fixture_expect_outcome(const struct fixture_answer *answer, enum claim_outcome outcome) {
    ck_assert_msg(answer->err == ERR_OK && answer->decision.outcome == outcome,
                  "wanted outcome %d, got %d with %s", (int)outcome, (int)answer->decision.outcome,
                  error_reason(answer->err));
}

void fixture_expect_result(const struct fixture_answer *answer, struct bytes result) {
    const struct claim_body *stored = &answer->decision.record.result;
    fixture_expect_outcome(answer, CLAIM_DUPLICATE);
    ck_assert_int_eq(fixture_state(answer), CLAIM_SUCCEEDED);
    ck_assert(stored->present);
    ck_assert(!stored->in_blob);
    ck_assert_uint_eq(stored->size_bytes, result.len);
    ck_assert(bytes_equal(stored->data, result));
}

// --- what is in the store -----------------------------------------------------------------------

// Calls `each`, if there is one, for every entry of a family; returns how many there are.
static uint64_t scan(struct engine_fixture *fixture, enum keyspace_family family,
                     void (*each)(struct engine_fixture *fixture, struct bytes value, void *arg),
                     void *arg) {
    struct store_scan *open_scan;
    struct bytes key;
    struct bytes value;
    uint64_t count = 0;
    ck_assert_int_eq(store_scan_open(fixture->store, family, (struct bytes){0}, &open_scan),
                     ERR_OK);
    enum err err;
    while ((err = store_scan_next(open_scan, &key, &value)) == ERR_OK) {
        if (each != NULL) each(fixture, value, arg);
        count++;
    }
    ck_assert_int_eq(err, ERR_NOT_FOUND);
    store_scan_close(open_scan);
    return count;
}

static void count_state(struct engine_fixture *fixture, struct bytes value, void *arg) {
    uint64_t *by_state = arg;
    struct claim_record record;
    ck_assert_int_eq(record_codec_decode(value, &record), ERR_OK);
    // A final record counts until it is removed, whatever time says.
    bool is_there = claim_settle(&record, fixture_now(fixture),
                                 (struct wall_ms){fake_clock_wall_ms(&fixture->clock)});
    if (is_there || claim_state_is_final(record.state)) by_state[record.state - 1]++;
}

void fixture_scan_counts(struct engine_fixture *fixture, uint64_t out_by_state[CLAIM_STATES]) {
    memset(out_by_state, 0, CLAIM_STATES * sizeof out_by_state[0]);
    scan(fixture, KEYSPACE_OPEN, count_state, out_by_state);
    scan(fixture, KEYSPACE_DONE, count_state, out_by_state);
}

uint64_t fixture_scan_keys(struct engine_fixture *fixture, enum keyspace_family family) {
    return scan(fixture, family, NULL, NULL);
}

uint64_t fixture_expect_counts_true(struct engine_fixture *fixture) {
    uint64_t scanned[CLAIM_STATES];
    uint64_t sum = 0;
    struct engine_stats stats = fixture_stats(fixture);
    fixture_scan_counts(fixture, scanned);
    for (int i = 0; i < CLAIM_STATES; i++) {
        ck_assert_msg(scanned[i] == stats.records_by_state[i], "%s: %llu counted, %llu there are",
                      claim_state_name((enum claim_state)(i + 1)),
                      (unsigned long long)stats.records_by_state[i],
                      (unsigned long long)scanned[i]);
        sum += scanned[i];
    }
    return sum;
}
