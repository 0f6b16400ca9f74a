// Commands to the engine of a fixture, and their answers.
//
// An answer borrows from the fixture until fixture_forget or fixture_deinit.
#pragma once

#include "engine_fixture.h"

struct fixture_answer {
    enum err err;
    struct claim_decision decision;
    struct store_ms now; // of the decision
    struct wall_ms wall_now;
};

// A command for `id` of FIXTURE_CONSUMER without a tenant, unless the others are set.
struct fixture_request {
    const char *tenant;
    const char *consumer;
    const char *id;
    struct claim_command command;
    int64_t wait_ms; // 0: none
    bool replay;
    bool include_bodies;
};

// One call that may take a while. Owned by the test, which must not move it while it is under way.
struct fixture_call {
    struct engine_fixture *fixture;
    struct engine_op op;
    bool done;
    uint64_t done_order; // from 1, over all calls of the fixture
    struct fixture_answer answer;
};

// Submits. The call is done or parked some turns later.
void fixture_start(struct engine_fixture *fixture, struct fixture_call *call,
                   const struct fixture_request *request);
// The same, of an operation that the test has filled in, save for `done`.
void fixture_start_op(struct engine_fixture *fixture, struct fixture_call *call);
// Turns until the call is done.
const struct fixture_answer *fixture_finish(struct fixture_call *call);
// Whether it waits, off its latch, for its key to change.
bool fixture_is_parked(const struct fixture_call *call);
// Submits and turns until it is done.
struct fixture_answer fixture_do(struct engine_fixture *fixture,
                                 const struct fixture_request *request);

// Frees what the answers so far borrow from.
void fixture_forget(struct engine_fixture *fixture);

// --- the verbs, for id of FIXTURE_CONSUMER -------------------------------------------------------

// `arguments` without the verb.
struct fixture_answer fixture_begin(struct engine_fixture *fixture, const char *id,
                                    struct claim_command arguments);
// With a lease and nothing else.
struct fixture_answer fixture_begin_for(struct engine_fixture *fixture, const char *id,
                                        int64_t lease_ms);
// Begin with a lease, which must be CLAIMED; returns the token.
uint64_t fixture_claim(struct engine_fixture *fixture, const char *id, int64_t lease_ms);
// result may be NULL: absent.
struct fixture_answer fixture_complete(struct engine_fixture *fixture, const char *id,
                                       uint64_t token, const char *result);
struct fixture_answer fixture_reject(struct engine_fixture *fixture, const char *id, uint64_t token,
                                     const char *reason);
struct fixture_answer fixture_fail(struct engine_fixture *fixture, const char *id, uint64_t token,
                                   enum fail_kind kind);
// Fails as TRANSIENT with a delay of the client's choice.
struct fixture_answer fixture_fail_after(struct engine_fixture *fixture, const char *id,
                                         uint64_t token, int64_t retry_after_ms);
struct fixture_answer fixture_renew(struct engine_fixture *fixture, const char *id, uint64_t token,
                                    int64_t lease_ms);
struct fixture_answer fixture_release(struct engine_fixture *fixture, const char *id,
                                      uint64_t token);
struct fixture_answer fixture_resolve(struct engine_fixture *fixture, const char *id,
                                      enum claim_resolution resolution);
// With its bodies.
struct fixture_answer fixture_get(struct engine_fixture *fixture, const char *id);
// Claims and completes; result may be NULL.
void fixture_succeed(struct engine_fixture *fixture, const char *id, const char *result);
// The same for `count` identities, prefix0 and so on, many at a time; their answers are forgotten.
void fixture_succeed_many(struct engine_fixture *fixture, const char *prefix, unsigned count,
                          const char *result);

// --- what tests ask of an answer -----------------------------------------------------------------

// The state that the answer shows; 0 if it shows no record.
enum claim_state fixture_state(const struct fixture_answer *answer);
// How long the lease that the answer shows still lasts.
int64_t fixture_lease_left_ms(const struct fixture_answer *answer);
// How long until the next attempt that the answer shows.
int64_t fixture_delay_left_ms(const struct fixture_answer *answer);
// Asserts that the answer is ERR_OK and carries this outcome; shows both if not.
void fixture_expect_outcome(const struct fixture_answer *answer, enum claim_outcome outcome);
// Asserts that it is ERR_OK, DUPLICATE, SUCCEEDED, with this result.
void fixture_expect_result(const struct fixture_answer *answer, struct bytes result);
#define FIXTURE_EXPECT_ERR(answer, expected)                                                       \
    ck_assert_str_eq(error_reason((answer).err), error_reason(expected))

// --- what is in the store ------------------------------------------------------------------------

// Records by state (index state - 1) as a scan finds them, what time has done applied.
void fixture_scan_counts(struct engine_fixture *fixture, uint64_t out_by_state[CLAIM_STATES]);
// Keys of one family.
uint64_t fixture_scan_keys(struct engine_fixture *fixture, enum keyspace_family family);
// Asserts that the engine's counts equal the scan's; returns their sum.
uint64_t fixture_expect_counts_true(struct engine_fixture *fixture);
