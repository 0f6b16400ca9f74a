// The records behind tests/golden/record_v1_*.bin, as values. Never change one: a new version of
// the format gets records of its own. For tests of the record codec.
#pragma once

#include <string.h>

#include "core/claim_record.h"

#define GOLDEN_WALL_MS INT64_C(1764500000000)

static inline struct claim_record golden_begun(enum claim_state state) {
    return (struct claim_record){
        .state = state,
        .attempt_count = 1,
        .created_at = {GOLDEN_WALL_MS},
        .updated_at = {GOLDEN_WALL_MS + 1500},
        .attempt = {.number = 1, .owner = bytes_of("worker-7"), .begun_at = {GOLDEN_WALL_MS}},
        .has_token = true,
        .token = 1764500000000123,
        .lapse_retries_max = 10,
    };
}

static inline void golden_end(struct claim_record *record, enum claim_end end,
                              enum claim_memory memory) {
    record->attempt.end = end;
    record->attempt.ended_at = record->updated_at;
    record->memory = memory;
    memcpy(record->memory_digest, "\x01\x23\x45\x67\x89\xAB\xCD\xEF", CLAIM_TOKEN_MEMORY_BYTES);
}

static inline void golden_finish(struct claim_record *record) {
    record->final_at.ms = 5000;
    record->expires_at = (struct optional_store_ms){true, {604805000}};
}

static inline struct claim_record golden_received(void) {
    return (struct claim_record){.state = CLAIM_RECEIVED,
                                 .created_at = {GOLDEN_WALL_MS},
                                 .updated_at = {GOLDEN_WALL_MS},
                                 .payload_ref = bytes_of("payments/3/1042"),
                                 .event_time = {true, {GOLDEN_WALL_MS - 2000}}};
}

static inline struct claim_record golden_processing(void) {
    struct claim_record record = golden_begun(CLAIM_PROCESSING);
    record.updated_at = record.created_at;
    record.request_id = bytes_of("0123456789abcdef");
    record.fingerprint = bytes_of("\xDE\xAD\xBE\xEF");
    record.attempt_has_fingerprint = true;
    record.granted_at.ms = 3500;
    record.lease_expires_at.ms = 33500;
    record.checkpoint =
        (struct claim_body){.present = true, .size_bytes = 6, .data = bytes_of("page 4")};
    return record;
}

static inline struct claim_record golden_retrying(void) {
    struct claim_record record = golden_begun(CLAIM_RETRYING);
    golden_end(&record, CLAIM_END_FAILED, CLAIM_MEMORY_FAIL);
    record.attempt.error = bytes_of("timeout");
    record.retry_counts[RETRY_TRANSIENT] = 1;
    record.last_error = (struct claim_error){.present = true,
                                             .kind = FAIL_TRANSIENT,
                                             .message = bytes_of("timeout"),
                                             .at = record.updated_at};
    record.next_attempt_at.ms = 6000;
    return record;
}

static inline struct claim_record golden_unknown(void) {
    struct claim_record record = golden_begun(CLAIM_UNKNOWN);
    record.lapse_leads_to = POLICY_HOLD;
    record.made_by_lapse = true;
    record.attempt.end = CLAIM_END_LAPSED;
    record.attempt.ended_at = record.updated_at;
    record.retry_counts[RETRY_LAPSED] = 1;
    record.last_error =
        (struct claim_error){.present = true, .kind = FAIL_LAPSED, .at = record.updated_at};
    return record;
}

static inline struct claim_record golden_succeeded(void) {
    struct claim_record record = golden_begun(CLAIM_SUCCEEDED);
    golden_end(&record, CLAIM_END_COMPLETED, CLAIM_MEMORY_COMPLETE);
    golden_finish(&record);
    record.result =
        (struct claim_body){.present = true, .size_bytes = 9, .data = bytes_of("{\"ok\": 1}")};
    record.result_digest = digest_of(record.result.data);
    return record;
}

static inline struct claim_record golden_rejected(void) {
    struct claim_record record = golden_begun(CLAIM_REJECTED);
    golden_end(&record, CLAIM_END_REJECTED, CLAIM_MEMORY_REJECT);
    golden_finish(&record);
    record.reason = bytes_of("card declined");
    record.result = (struct claim_body){.present = true}; // empty
    record.result_digest = digest_of((struct bytes){0});
    return record;
}

static inline struct claim_record golden_cancelled(void) {
    struct claim_record record = {.state = CLAIM_REJECTED,
                                  .created_at = {GOLDEN_WALL_MS},
                                  .updated_at = {GOLDEN_WALL_MS},
                                  .memory = CLAIM_MEMORY_CANCEL,
                                  .reason = bytes_of("not wanted")};
    golden_finish(&record);
    return record;
}

static inline struct claim_record golden_dead_lettered(void) {
    struct claim_record record = golden_begun(CLAIM_DEAD_LETTERED);
    golden_end(&record, CLAIM_END_FAILED, CLAIM_MEMORY_FAIL);
    record.retry_counts[RETRY_POISON] = 1;
    record.lapse_retries_max = POLICY_NO_LIMIT;
    record.lapse_dead_retention = (struct optional_ms){true, 86400000};
    record.last_error = (struct claim_error){.present = true,
                                             .kind = FAIL_POISON,
                                             .message = bytes_of("no such currency: \xE2\x82\xAC"),
                                             .at = record.updated_at};
    record.expires_at = (struct optional_store_ms){true, {86405000}};
    record.payload = (struct claim_body){.present = true, .in_blob = true, .size_bytes = 70000};
    return record;
}

// Every part at once, as far as one state can have them, with extreme values.
static inline struct claim_record golden_discarded(void) {
    struct claim_record record = golden_begun(CLAIM_DISCARDED);
    record.reopen_count = 2;
    record.attempt_count = UINT32_MAX;
    record.attempt.number = UINT32_MAX;
    record.attempt.begun_at.ms = INT64_MIN;
    golden_end(&record, CLAIM_END_EXPIRED, CLAIM_MEMORY_RELEASE);
    record.attempt.ended_at.ms = INT64_MAX;
    record.attempt.error = bytes_of("killed");
    for (unsigned kind = 0; kind < RETRY_KINDS; kind++) record.retry_counts[kind] = 7 + kind;
    record.earlier_count = LIMIT_ATTEMPTS_KEPT - 1;
    for (uint32_t i = 0; i < record.earlier_count; i++) {
        record.earlier[i] = (struct claim_attempt){.number = 100 + i,
                                                   .owner = bytes_of(i % 2 == 0 ? "even" : ""),
                                                   .begun_at = {GOLDEN_WALL_MS + i},
                                                   .ended_at = {GOLDEN_WALL_MS + 10 + i},
                                                   .end = (enum claim_end)(1 + i),
                                                   .error = bytes_of(i % 3 == 0 ? "third" : "")};
    }
    record.token = (uint64_t)LIMIT_TOKEN_MAX;
    record.lapse_leads_to = POLICY_HOLD;
    record.lapse_retries_max = INT32_MAX;
    record.lapse_dead_retention = (struct optional_ms){true, INT64_MAX};
    record.request_id = bytes_of("r");
    record.fingerprint = bytes_of("f");
    record.attempt_has_fingerprint = true;
    golden_finish(&record);
    record.payload_ref = bytes_of("p");
    record.event_time = (struct optional_wall_ms){true, {0}};
    record.last_error = (struct claim_error){
        .present = true, .kind = FAIL_OUTCOME_UNKNOWN, .message = bytes_of("?"), .at = {-1}};
    record.reason = bytes_of("obsolete");
    record.result =
        (struct claim_body){.present = true, .expired = true, .size_bytes = LIMIT_RESULT_BYTES_MAX};
    record.result_digest = digest_of(bytes_of("gone"));
    record.checkpoint = (struct claim_body){
        .present = true, .in_blob = true, .size_bytes = LIMIT_BODY_INLINE_BYTES_MAX + 1};
    record.payload =
        (struct claim_body){.present = true, .size_bytes = 7, .data = bytes_of("payload")};
    return record;
}
