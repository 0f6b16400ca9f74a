#include "lib/claim_cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"

#define BYTES(text)                                                                                \
    { (const uint8_t *)(text), sizeof(text) - 1 }
#define TEN(text) text text text text text text text text text text

#define LONG_BODY TEN("thirty bytes of a long result ")
// A character of three bytes lies across byte 256, and another one across byte 4096.
#define FIFTEEN "fifteen bytes, "
#define CHARACTER "\xE2\x82\xAC"
#define LONG_255 TEN(FIFTEEN) FIFTEEN FIFTEEN FIFTEEN FIFTEEN FIFTEEN FIFTEEN FIFTEEN
#define LONG_3837                                                                                  \
    TEN(TEN(CHARACTER CHARACTER CHARACTER CHARACTER)) /* 1200 */                                   \
    TEN(TEN(CHARACTER CHARACTER CHARACTER CHARACTER)) /* 2400 */                                   \
    TEN(TEN(CHARACTER CHARACTER CHARACTER CHARACTER)) /* 3600 */                                   \
    TEN(FIFTEEN) TEN("eight...") "seven.."
#define LONG_MESSAGE LONG_255 CHARACTER LONG_3837 CHARACTER "the end"

const struct bytes claim_cases_owners[3] = {{0}, BYTES("worker-1"), BYTES("worker-2")};
const struct bytes claim_cases_requests[3] = {{0}, BYTES("call-1"), BYTES("call-2")};
const struct bytes claim_cases_fingerprints[3] = {{0}, BYTES("\x01\x02"), BYTES("\x01\x03")};
const struct claim_body claim_cases_bodies[4] = {
    {.present = false},
    {.present = true},
    {.present = true, .size_bytes = 4, .data = BYTES("done")},
    {.present = true, .size_bytes = sizeof LONG_BODY - 1, .data = BYTES(LONG_BODY)},
};
const struct bytes claim_cases_messages[3] = {{0}, BYTES("no route"), BYTES(LONG_MESSAGE)};
const struct bytes claim_cases_reasons[3] = {{0}, BYTES("not ours"), BYTES("too late")};
const struct bytes claim_cases_payload_refs[2] = {{0}, BYTES("orders/3/1042")};

_Static_assert(sizeof LONG_255 - 1 == 255, "a character lies across the end of an attempt's error");
_Static_assert(sizeof LONG_255 - 1 + 3 + sizeof LONG_3837 - 1 == LIMIT_ERROR_MESSAGE_BYTES_MAX - 1,
               "a character lies across the end of an error");

// --- going through a history ---------------------------------------------------------------------

struct wall_ms claim_cases_wall(struct store_ms now) {
    return (struct wall_ms){INT64_C(1700000000000) + now.ms};
}

struct wall_ms claim_cases_wall_set_back(struct store_ms now) {
    return (struct wall_ms){INT64_C(1700000000000) - 3599123 + now.ms};
}

static struct claim_case start(const char *name) {
    struct claim_case claim = {.now = {1000000}};
    snprintf(claim.name, sizeof claim.name, "%s", name);
    return claim;
}

static void name_more(struct claim_case *claim, const char *more) {
    size_t used = strlen(claim->name);
    snprintf(claim->name + used, sizeof claim->name - used, ", %s", more);
}

static void wait_ms(struct claim_case *claim, int64_t ms) { claim->now.ms += ms; }

// One step; both must agree on it.
static void step(struct claim_case *claim, const struct policy *policy,
                 struct claim_command command) {
    struct claim_context context = {.now = claim->now,
                                    .wall_now = claim_cases_wall(claim->now),
                                    .policy = policy,
                                    .token_next = claim->token + 100};
    struct model_answer answer;
    struct claim_decision decision;
    if (command.token == 0) command.token = claim->token;
    claim_cases_compare(claim, &command, &context);
    enum err err =
        claim_decide(claim->stored ? &claim->record : NULL, &command, &context, &decision);
    claim_model_decide(&claim->model, &command, &context, &answer);
    CHECK(err == ERR_OK);
    if (decision.granted) claim->token = context.token_next;
    if (decision.change == CLAIM_WRITTEN) {
        claim->stored = true;
        claim->record = decision.record;
    }
    CHECK(decision.change != CLAIM_REMOVED);
}

static struct policy usual(void) {
    struct policy policy = policy_default;
    policy.default_lease_ms = CLAIM_CASES_LEASE_MS;
    policy.retention_ms = 500000;
    return policy;
}

static void begin(struct claim_case *claim, const struct policy *policy) {
    step(claim, policy,
         (struct claim_command){.verb = CLAIM_BEGIN,
                                .owner = claim_cases_owners[1],
                                .request_id = claim_cases_requests[1]});
}

// A verb with something in each of its own arguments.
static void verb(struct claim_case *claim, const struct policy *policy, enum claim_verb which) {
    struct claim_command command = {.verb = which};
    bool gives_reason = which == CLAIM_REJECT || which == CLAIM_CANCEL;
    bool gives_result = which == CLAIM_COMPLETE || which == CLAIM_REJECT;
    if (gives_reason) command.reason = claim_cases_reasons[1];
    if (gives_result) command.result = claim_cases_bodies[2];
    if (which == CLAIM_RENEW) command.checkpoint = claim_cases_bodies[3];
    step(claim, policy, command);
}

static void fail(struct claim_case *claim, const struct policy *policy, enum fail_kind kind,
                 size_t payload) {
    step(claim, policy,
         (struct claim_command){.verb = CLAIM_FAIL,
                                .fail_kind = kind,
                                .message = claim_cases_messages[1],
                                .payload = claim_cases_bodies[payload]});
}

static void resolve(struct claim_case *claim, const struct policy *policy,
                    enum claim_resolution resolution) {
    bool with_result = resolution == CLAIM_AS_SUCCEEDED || resolution == CLAIM_AS_REJECTED;
    step(claim, policy,
         (struct claim_command){.verb = CLAIM_RESOLVE,
                                .resolution = resolution,
                                .result = claim_cases_bodies[with_result ? 2 : 0],
                                .reason = claim_cases_reasons[2]});
}

// --- what operators' later verbs leave behind ----------------------------------------------------

typedef void patch(struct claim_record *record, struct store_ms now);

static void apply(struct claim_case *claim, patch *change) {
    change(&claim->record, claim->now);
    change(&claim->model.known, claim->now);
}

static void patch_discard(struct claim_record *record, struct store_ms now) {
    record->state = CLAIM_DISCARDED;
    record->has_token = false;
    record->memory = CLAIM_MEMORY_NONE;
    record->final_at = now;
    record->expires_at = (struct optional_store_ms){.present = true, .at = {now.ms + 500000}};
    record->reason = claim_cases_reasons[2];
    record->payload = claim_cases_bodies[0];
}

static void patch_redrive(struct claim_record *record, struct store_ms now) {
    (void)now;
    record->state = CLAIM_RECEIVED;
    record->has_token = false;
    record->memory = CLAIM_MEMORY_NONE;
    record->made_by_lapse = false;
    record->expires_at.present = false;
    memset(record->retry_counts, 0, sizeof record->retry_counts);
}

static void patch_reopen(struct claim_record *record, struct store_ms now) {
    patch_redrive(record, now);
    record->reopen_count++;
    record->result = claim_cases_bodies[0];
    record->checkpoint = claim_cases_bodies[0];
}

static void patch_no_memory(struct claim_record *record, struct store_ms now) {
    (void)now;
    record->memory = CLAIM_MEMORY_NONE;
}

static void patch_result_expired(struct claim_record *record, struct store_ms now) {
    (void)now;
    record->result.expired = true;
    record->result.data = (struct bytes){0};
}

static void patch_worn(struct claim_record *record, struct store_ms now) {
    (void)now;
    for (size_t i = 0; i < RETRY_KINDS; i++) record->retry_counts[i] = UINT32_MAX - 1;
    record->attempt_count = UINT32_MAX - 1;
    record->attempt.number = UINT32_MAX - 1;
}

static void patch_worn_out(struct claim_record *record, struct store_ms now) {
    patch_worn(record, now);
    for (size_t i = 0; i < RETRY_LAPSED; i++) record->retry_counts[i] = UINT32_MAX;
}

static void patch_worn_by_one_kind(struct claim_record *record, struct store_ms now) {
    patch_worn(record, now);
    for (size_t i = 0; i < RETRY_LAPSED; i++) record->retry_counts[i] = 0;
    record->retry_counts[RETRY_TRANSIENT] = UINT32_MAX;
}

// --- the cases -----------------------------------------------------------------------------------

struct visitor {
    claim_cases_visit *visit;
    void *arg;
};

static void show(const struct visitor *visitor, struct claim_case claim) {
    visitor->visit(&claim, visitor->arg);
}

static void show_received(const struct visitor *visitor) {
    struct policy policy = usual();
    struct claim_case claim = start("absent");
    claim.plain = true;
    show(visitor, claim);

    claim = start("registered");
    verb(&claim, &policy, CLAIM_REGISTER);
    show(visitor, claim);
    claim = start("registered with a reference");
    step(&claim, &policy,
         (struct claim_command){.verb = CLAIM_REGISTER,
                                .payload_ref = claim_cases_payload_refs[1],
                                .event_time = {.present = true, .at = {77}}});
    show(visitor, claim);

    claim = start("released");
    begin(&claim, &policy);
    wait_ms(&claim, 700);
    verb(&claim, &policy, CLAIM_RENEW);
    verb(&claim, &policy, CLAIM_RELEASE);
    claim.plain = true;
    show(visitor, claim);
    name_more(&claim, "verb not remembered");
    apply(&claim, patch_no_memory);
    show(visitor, claim);

    claim = start("released by the seventh of its holders");
    for (int i = 0; i < 7; i++) {
        begin(&claim, &policy);
        wait_ms(&claim, 13);
        verb(&claim, &policy, CLAIM_RELEASE);
    }
    show(visitor, claim);
    name_more(&claim, "and by two more");
    for (int i = 0; i < 2; i++) {
        begin(&claim, &policy);
        wait_ms(&claim, 13);
        verb(&claim, &policy, CLAIM_RELEASE);
    }
    show(visitor, claim);

    claim = start("redriven");
    begin(&claim, &policy);
    fail(&claim, &policy, FAIL_POISON, 3);
    apply(&claim, patch_redrive);
    show(visitor, claim);
    claim = start("reopened");
    begin(&claim, &policy);
    verb(&claim, &policy, CLAIM_COMPLETE);
    apply(&claim, patch_reopen);
    show(visitor, claim);
}

struct grant {
    size_t owner;
    size_t request;
    int fingerprint; // 0: none, 1: of this attempt, 2: of an earlier one
    int lapses;      // counted before
    enum policy_unknown on_lapse;
    int32_t lapsed_max;
    bool dead_retention;
    bool max_hold;
};

static struct claim_case granted(const struct grant *grant) {
    struct claim_case claim = start("granted");
    struct policy policy = usual();
    policy.max_retries[RETRY_LAPSED] = POLICY_NO_LIMIT;
    struct claim_command command = {.verb = CLAIM_BEGIN,
                                    .fingerprint = claim_cases_fingerprints[grant->fingerprint > 0],
                                    .owner = claim_cases_owners[2]};
    if (grant->fingerprint == 2) {
        step(&claim, &policy, command);
        verb(&claim, &policy, CLAIM_RELEASE);
        command.fingerprint = claim_cases_fingerprints[0];
    }
    for (int i = 0; i < grant->lapses; i++) {
        step(&claim, &policy, command);
        wait_ms(&claim, CLAIM_CASES_LEASE_MS);
    }
    policy.on_lapse = grant->on_lapse;
    policy.max_retries[RETRY_LAPSED] = grant->lapsed_max;
    policy.max_hold = (struct optional_ms){grant->max_hold, CLAIM_CASES_HOLD_MS};
    policy.dead_letter_retention = (struct optional_ms){grant->dead_retention, CLAIM_CASES_DEAD_MS};
    command.owner = claim_cases_owners[grant->owner];
    command.request_id = claim_cases_requests[grant->request];
    step(&claim, &policy, command);
    snprintf(claim.name, sizeof claim.name,
             "granted: owner %zu, request %zu, fingerprint %d, lapses %d, lapse to %s, limit %d, "
             "dead %d, hold %d",
             grant->owner, grant->request, grant->fingerprint, grant->lapses,
             grant->on_lapse == POLICY_HOLD ? "HOLD" : "RETRY", (int)grant->lapsed_max,
             grant->dead_retention, grant->max_hold);
    claim.plain = grant->owner == 1 && grant->request == 1 && grant->fingerprint == 0;
    return claim;
}

// The same attempt as it goes on: renewed; found lapsed by the sweep; failed too late; taken back.
static void show_granted(const struct visitor *visitor, const struct grant *grant) {
    struct policy policy = usual();
    struct claim_case claim = granted(grant);
    show(visitor, claim);
    if (!claim.plain) return;

    struct claim_case renewed = claim;
    name_more(&renewed, "renewed");
    policy.max_hold = (struct optional_ms){grant->max_hold, CLAIM_CASES_HOLD_MS};
    wait_ms(&renewed, 9000);
    verb(&renewed, &policy, CLAIM_RENEW);
    if (grant->max_hold) {
        wait_ms(&renewed, 9000);
        verb(&renewed, &policy, CLAIM_RENEW); // now to the very end
    }
    show(visitor, renewed);

    struct claim_case reclaimed = claim;
    name_more(&reclaimed, "reclaimed");
    wait_ms(&reclaimed, 500);
    step(&reclaimed, &policy,
         (struct claim_command){
             .verb = CLAIM_BEGIN, .owner = claim_cases_owners[1], .reclaim = true});
    show(visitor, reclaimed);

    wait_ms(&claim, CLAIM_CASES_LEASE_MS + 5);
    verb(&claim, &policy, CLAIM_SETTLE);
    if (claim.record.state == CLAIM_PROCESSING) return;
    name_more(&claim, "settled");
    wait_ms(&claim, 40);
    show(visitor, claim);
    struct claim_case late = claim;
    name_more(&late, "failed late");
    fail(&late, &policy, FAIL_TRANSIENT, 2);
    show(visitor, late);
    late = claim;
    name_more(&late, "completed late");
    verb(&late, &policy, CLAIM_COMPLETE);
    show(visitor, late);
    if (claim.record.state != CLAIM_UNKNOWN) return;
    late = claim;
    name_more(&late, "released late");
    verb(&late, &policy, CLAIM_RELEASE);
    show(visitor, late);
    for (int as = CLAIM_AS_SUCCEEDED; as <= CLAIM_AS_DEAD_LETTER; as++) {
        late = claim;
        name_more(&late, "resolved");
        resolve(&late, &policy, (enum claim_resolution)as);
        show(visitor, late);
    }
}

static void show_processing(const struct visitor *visitor) {
    static const int32_t limits[3] = {0, 1, POLICY_NO_LIMIT};
    for (unsigned i = 0; i < 2 * 2 * 3 * 2 * 2 * 3 * 2 * 2; i++) {
        unsigned rest = i;
        struct grant grant = {0};
        grant.owner = rest % 2, rest /= 2;
        grant.request = rest % 2, rest /= 2;
        grant.fingerprint = (int)(rest % 3), rest /= 3;
        grant.lapses = (int)(rest % 2), rest /= 2;
        grant.on_lapse = rest % 2 == 0 ? POLICY_RETRY : POLICY_HOLD, rest /= 2;
        grant.lapsed_max = limits[rest % 3], rest /= 3;
        grant.dead_retention = rest % 2 == 1, rest /= 2;
        grant.max_hold = rest == 1;
        show_granted(visitor, &grant);
    }

    struct policy policy = usual();
    for (size_t i = 0; i < RETRY_KINDS; i++) policy.max_retries[i] = POLICY_NO_LIMIT;
    struct claim_case claim = start("granted again and again");
    begin(&claim, &policy);
    apply(&claim, patch_worn);
    show(visitor, claim);
    apply(&claim, patch_worn_out);
    name_more(&claim, "to the end of counting");
    show(visitor, claim);
    apply(&claim, patch_worn_by_one_kind);
    name_more(&claim, "by one kind");
    show(visitor, claim);

    claim = start("granted after a redrive");
    policy = usual();
    begin(&claim, &policy);
    fail(&claim, &policy, FAIL_POISON, 3);
    apply(&claim, patch_redrive);
    begin(&claim, &policy);
    claim.plain = true;
    show(visitor, claim);
    name_more(&claim, "retrying");
    fail(&claim, &policy, FAIL_TRANSIENT, 2);
    show(visitor, claim);
}

static void show_failed(const struct visitor *visitor) {
    for (unsigned i = 0; i < 4 * 2 * 2 * 2; i++) {
        unsigned rest = i;
        struct policy policy = usual();
        enum fail_kind kind = (enum fail_kind)(FAIL_TRANSIENT + rest % 4);
        rest /= 4;
        bool retried = rest % 2 == 1;
        rest /= 2;
        bool dead_retention = rest % 2 == 1;
        bool with_payload = rest / 2 == 1;
        policy.on_unknown = retried ? POLICY_RETRY : POLICY_HOLD;
        for (size_t k = 0; k < RETRY_LAPSED; k++) policy.max_retries[k] = retried ? 3 : 0;
        policy.dead_letter_retention = (struct optional_ms){dead_retention, CLAIM_CASES_DEAD_MS};
        struct claim_case claim = start("failed");
        begin(&claim, &policy);
        verb(&claim, &policy, CLAIM_RENEW);
        wait_ms(&claim, 300);
        fail(&claim, &policy, kind, with_payload ? 3 : 0);
        snprintf(claim.name, sizeof claim.name, "failed: kind %d, retried %d, dead %d, payload %d",
                 (int)kind, retried, dead_retention, with_payload);
        claim.plain = !dead_retention && with_payload;
        show(visitor, claim);
        struct claim_case other = claim;
        name_more(&other, "verb not remembered");
        apply(&other, patch_no_memory);
        show(visitor, other);
        if (claim.record.state == CLAIM_DEAD_LETTERED) {
            other = claim;
            name_more(&other, "discarded");
            apply(&other, patch_discard);
            show(visitor, other);
        }
        if (claim.record.state == CLAIM_RETRYING) {
            name_more(&claim, "cancelled");
            verb(&claim, &policy, CLAIM_CANCEL);
            show(visitor, claim);
        }
        if (claim.record.state == CLAIM_UNKNOWN) {
            for (int as = CLAIM_AS_SUCCEEDED; as <= CLAIM_AS_DEAD_LETTER; as++) {
                other = claim;
                name_more(&other, "resolved");
                resolve(&other, &policy, (enum claim_resolution)as);
                show(visitor, other);
            }
        }
    }

    struct policy hold = usual();
    struct claim_case again = start("failed again after it was resolved as retry");
    begin(&again, &hold);
    fail(&again, &hold, FAIL_OUTCOME_UNKNOWN, 0);
    resolve(&again, &hold, CLAIM_AS_RETRY);
    begin(&again, &hold);
    fail(&again, &hold, FAIL_OUTCOME_UNKNOWN, 0);
    show(visitor, again);

    static const int64_t delays[2] = {0, 5000};
    for (size_t i = 0; i < 2; i++) {
        struct policy policy = usual();
        struct claim_case claim = start(i == 0 ? "failed, due at once" : "failed, due in 5 s");
        begin(&claim, &policy);
        step(&claim, &policy,
             (struct claim_command){.verb = CLAIM_FAIL,
                                    .fail_kind = FAIL_TRANSIENT,
                                    .message = claim_cases_messages[2],
                                    .retry_after = {.present = true, .ms = delays[i]}});
        claim.plain = true;
        show(visitor, claim);
    }
}

static void show_final(const struct visitor *visitor) {
    struct policy policy = usual();
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[3] = {"no result", "empty result", "result"};
        for (int rejected = 0; rejected < 2; rejected++) {
            struct claim_case claim = start(rejected ? "rejected" : "completed");
            name_more(&claim, names[i]);
            begin(&claim, &policy);
            verb(&claim, &policy, CLAIM_RENEW);
            wait_ms(&claim, 300);
            step(&claim, &policy,
                 (struct claim_command){.verb = rejected ? CLAIM_REJECT : CLAIM_COMPLETE,
                                        .reason = claim_cases_reasons[rejected],
                                        .result = claim_cases_bodies[i]});
            claim.plain = i == 2;
            show(visitor, claim);
            struct claim_case other = claim;
            name_more(&other, "verb not remembered");
            apply(&other, patch_no_memory);
            show(visitor, other);
            if (i == 2) {
                name_more(&claim, "body let go");
                apply(&claim, patch_result_expired);
                show(visitor, claim);
            }
        }
    }

    struct claim_case claim = start("completed with a fingerprint");
    step(&claim, &policy,
         (struct claim_command){.verb = CLAIM_BEGIN, .fingerprint = claim_cases_fingerprints[1]});
    verb(&claim, &policy, CLAIM_COMPLETE);
    show(visitor, claim);

    claim = start("cancelled before it was known");
    verb(&claim, &policy, CLAIM_CANCEL);
    show(visitor, claim);
    claim = start("cancelled after a release");
    begin(&claim, &policy);
    verb(&claim, &policy, CLAIM_RENEW);
    verb(&claim, &policy, CLAIM_RELEASE);
    verb(&claim, &policy, CLAIM_CANCEL);
    show(visitor, claim);
    claim = start("cancelled after a redrive");
    begin(&claim, &policy);
    fail(&claim, &policy, FAIL_POISON, 3);
    apply(&claim, patch_redrive);
    verb(&claim, &policy, CLAIM_CANCEL);
    show(visitor, claim);
}

void claim_cases_each(claim_cases_visit *visit, void *arg) {
    struct visitor visitor = {visit, arg};
    show_received(&visitor);
    show_processing(&visitor);
    show_failed(&visitor);
    show_final(&visitor);
}
