#include "rpc/rpc_status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "core/claim.h"
#include "engine/engine.h"
#include "google/rpc/status.pb-c.h"

#define TYPE_URL(name) "type.googleapis.com/google.rpc." name

void rpc_fault_set(struct rpc_fault *fault, const char *field, const char *limit,
                   const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)snprintf(fault->field, sizeof fault->field, "%s", field);
    (void)snprintf(fault->limit, sizeof fault->limit, "%s", limit != NULL ? limit : "");
    (void)vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
}

// --- texts ---------------------------------------------------------------------------------------

// What can be said of an error when nothing more is known, and how long to wait before a repeat
// that may help.
struct status_row {
    const char *text;
    int64_t retry_ms; // 0: no RetryInfo
};

static const struct status_row status_rows[] = {
    [ERR_INVALID_ARGUMENT] = {"the request has an invalid argument", 0},
    [ERR_NOT_FOUND] = {"there is no such claim, or no such consumer; that does not tell what was "
                       "once done",
                       0},
    [ERR_STALE_TOKEN] = {"the token is not the current one: another attempt took over or an "
                         "operator decided",
                         0},
    [ERR_WRONG_STATE] = {"the state of the claim does not allow this", 0},
    [ERR_FINGERPRINT_MISMATCH] = {"the fingerprint differs from the one that this message ID was "
                                  "first claimed with: two payloads have one ID; nothing was "
                                  "changed; check how the producer makes its IDs",
                                  0},
    [ERR_MAX_HOLD] = {"the attempt has held the claim for as long as the consumer's policy allows "
                      "(max_hold); finish it or release it",
                      0},
    [ERR_WINDOW_VIOLATION] = {"`before` reaches into a redelivery window: the broker may send such "
                              "messages again, and they would have their effect again; choose an "
                              "earlier time, or set force",
                              0},
    [ERR_QUEUE_FULL] = {"the server is at its limit of requests under way; nothing was changed; "
                        "repeat the request after the delay",
                        200},
    [ERR_DISK_RESERVE] = {"the disk is at its reserve: new claims wait until there is room, claims "
                          "that are held can be finished; nothing was changed; free disk space or "
                          "prune",
                          10000},
    [ERR_CONSUMER_QUOTA] = {"there are as many consumers as the quota allows; a consumer is the "
                            "name of an effect: do not put data into it",
                            0},
    [ERR_TOKENS_EXHAUSTED] = {"the store has used up its tokens", 0},
    [ERR_NO_MEMORY] = {"the server is short of memory; nothing was changed; repeat the request "
                       "after the delay",
                       1000},
    [ERR_DRAINING] = {"the server is shutting down; nothing was changed; repeat the request after "
                      "the delay",
                      1000},
    [ERR_UNIMPLEMENTED] = {"this server does not have the method", 0},
    [ERR_CANCELLED] = {"the call ended while it waited; nothing was changed", 0},
    [ERR_WOULD_BLOCK] = {"the server failed internally; see its log", 0},
    [ERR_CORRUPT] = {"what is stored under this key is damaged; nothing was changed; see the "
                     "server's log",
                     0},
    [ERR_IO] = {"the server failed internally; see its log", 0},
    [ERR_EXISTS] = {"it exists already", 0},
    [ERR_LOCKED] = {"somebody else holds the lock", 0},
};

static const struct status_row *status_row(enum err err) {
    CHECK((size_t)err < sizeof status_rows / sizeof status_rows[0]);
    CHECK(status_rows[err].text != NULL);
    return &status_rows[err];
}

static const char *verb_text(enum claim_verb verb) {
    switch (verb) {
    case CLAIM_BEGIN:
        return "Begin";
    case CLAIM_COMPLETE:
        return "Complete";
    case CLAIM_REJECT:
        return "Reject";
    case CLAIM_FAIL:
        return "Fail";
    case CLAIM_RENEW:
        return "Renew";
    case CLAIM_RELEASE:
        return "Release";
    case CLAIM_REGISTER:
        return "Register";
    case CLAIM_CANCEL:
        return "Cancel";
    case CLAIM_RESOLVE:
        return "Resolve";
    case CLAIM_GET:
        return "GetClaim";
    case CLAIM_SETTLE:
    case CLAIM_PRUNE:
        break;
    }
    return "the request";
}

// When a verb would have been allowed.
static const char *verb_advice(enum claim_verb verb) {
    switch (verb) {
    case CLAIM_COMPLETE:
    case CLAIM_REJECT:
    case CLAIM_FAIL:
    case CLAIM_RELEASE:
        return "the attempt has already ended, by another call or with other arguments";
    case CLAIM_RENEW:
        return "only a running attempt can be renewed";
    case CLAIM_CANCEL:
        return "only what is absent, RECEIVED or RETRYING can be cancelled";
    case CLAIM_RESOLVE:
        return "only an UNKNOWN claim can be resolved";
    case CLAIM_BEGIN:
    case CLAIM_REGISTER:
    case CLAIM_GET:
    case CLAIM_SETTLE:
    case CLAIM_PRUNE:
        break;
    }
    return "nothing was changed";
}

// The state that may be told with an error, or NULL.
static const char *state_of(const struct rpc_status_cause *cause) {
    bool told = cause->err == ERR_STALE_TOKEN || cause->err == ERR_WRONG_STATE;
    if (!told || cause->op == NULL || !cause->op->decision.exists) return NULL;
    return claim_state_name(cause->op->decision.record.state);
}

// An argument that only the consumer's policy could refuse.
static void fault_of_policy(const struct rpc_status_cause *cause, struct rpc_fault *out) {
    const struct claim_command *cmd = &cause->op->command;
    if (cmd->verb == CLAIM_BEGIN) {
        rpc_fault_set(out, "fingerprint", "1 to 64 bytes",
                      "fingerprint is required by the policy of this consumer");
        return;
    }
    char limit[sizeof out->limit] = "";
    if (cause->policy != NULL) {
        (void)snprintf(limit, sizeof limit, "%" PRIu32 " bytes", cause->policy->result_bytes_max);
    }
    rpc_fault_set(out, "result", limit,
                  "result has %" PRIu32 " bytes, more than the policy of this consumer allows%s%s; "
                  "nothing was changed",
                  cmd->result.size_bytes, limit[0] != '\0' ? ": " : "", limit);
}

static void message_of(const struct rpc_status_cause *cause, const struct rpc_fault *fault,
                       const char *state, char *out, size_t size) {
    if (fault != NULL) {
        (void)snprintf(out, size, "%s", fault->text);
    } else if (cause->begun) {
        (void)snprintf(out, size,
                       "the prune ended before it was through (%s): what it has removed stays "
                       "removed; repeat it for the rest",
                       error_reason(cause->err));
    } else if (cause->err == ERR_STALE_TOKEN && state != NULL) {
        (void)snprintf(out, size,
                       "token %" PRIu64 " is not the current one: another attempt took over or an "
                       "operator decided; the claim is %s",
                       cause->op->command.token, state);
    } else if (cause->err == ERR_WRONG_STATE && state != NULL) {
        enum claim_verb verb = cause->op->command.verb;
        (void)snprintf(out, size, "%s is not possible: the claim is %s; %s", verb_text(verb), state,
                       verb_advice(verb));
    } else {
        (void)snprintf(out, size, "%s", status_row(cause->err)->text);
    }
}

// --- details -------------------------------------------------------------------------------------

// Texts are ours and never written through; protobuf-c declares them writable.
static char *wire_text(const char *text) { return (char *)(uintptr_t)text; }

// Everything that the details can consist of, so that building them needs no heap.
struct status_details {
    Google__Rpc__Status status;
    Google__Protobuf__Any anys[3];
    Google__Protobuf__Any *any_pointers[3];
    uint8_t packed[3][640];

    Google__Rpc__ErrorInfo info;
    Google__Rpc__ErrorInfo__MetadataEntry entries[3];
    Google__Rpc__ErrorInfo__MetadataEntry *entry_pointers[3];

    Google__Rpc__BadRequest bad;
    Google__Rpc__BadRequest__FieldViolation violation;
    Google__Rpc__BadRequest__FieldViolation *violation_pointer;

    Google__Rpc__RetryInfo retry;
    Google__Protobuf__Duration delay;
};

static void details_start(struct status_details *details, int code, const char *message) {
    google__rpc__status__init(&details->status);
    details->status.code = code;
    details->status.message = wire_text(message);
    details->status.details = details->any_pointers;
}

static void details_add(struct status_details *details, const ProtobufCMessage *message,
                        const char *type_url) {
    size_t index = details->status.n_details++;
    size_t len = protobuf_c_message_get_packed_size(message);
    CHECK(index < sizeof details->anys / sizeof details->anys[0]);
    CHECK(len <= sizeof details->packed[index]);
    CHECK(protobuf_c_message_pack(message, details->packed[index]) == len);
    Google__Protobuf__Any *any = &details->anys[index];
    google__protobuf__any__init(any);
    any->type_url = wire_text(type_url);
    any->value = (ProtobufCBinaryData){.len = len, .data = details->packed[index]};
    details->any_pointers[index] = any;
}

static void details_metadata(struct status_details *details, const char *key, const char *value) {
    if (value == NULL || value[0] == '\0') return;
    size_t index = details->info.n_metadata++;
    CHECK(index < sizeof details->entries / sizeof details->entries[0]);
    Google__Rpc__ErrorInfo__MetadataEntry *entry = &details->entries[index];
    google__rpc__error_info__metadata_entry__init(entry);
    entry->key = wire_text(key);
    entry->value = wire_text(value);
    details->entry_pointers[index] = entry;
}

static void details_error_info(struct status_details *details, enum err err, const char *state,
                               const struct rpc_fault *fault) {
    google__rpc__error_info__init(&details->info);
    details->info.reason = wire_text(error_reason(err));
    details->info.domain = wire_text(RPC_STATUS_DOMAIN);
    details->info.metadata = details->entry_pointers;
    details_metadata(details, "state", state);
    if (fault != NULL) {
        details_metadata(details, "field", fault->field);
        details_metadata(details, "limit", fault->limit);
    }
    details_add(details, &details->info.base, TYPE_URL("ErrorInfo"));
}

static void details_bad_request(struct status_details *details, const struct rpc_fault *fault) {
    google__rpc__bad_request__init(&details->bad);
    google__rpc__bad_request__field_violation__init(&details->violation);
    details->violation.field = wire_text(fault->field);
    details->violation.description = wire_text(fault->text);
    details->violation_pointer = &details->violation;
    details->bad.n_field_violations = 1;
    details->bad.field_violations = &details->violation_pointer;
    details_add(details, &details->bad.base, TYPE_URL("BadRequest"));
}

static void details_retry_info(struct status_details *details, int64_t delay_ms) {
    google__rpc__retry_info__init(&details->retry);
    google__protobuf__duration__init(&details->delay);
    details->delay.seconds = delay_ms / 1000;
    details->delay.nanos = (int32_t)(delay_ms % 1000) * 1000000;
    details->retry.retry_delay = &details->delay;
    details_add(details, &details->retry.base, TYPE_URL("RetryInfo"));
}

// How long to wait before the same request may succeed; 0 if that is not the answer.
static int64_t retry_delay_ms(const struct rpc_status_cause *cause) {
    int64_t delay_ms = status_row(cause->err)->retry_ms;
    if (delay_ms == 0 || !cause->retry_delay.present) return delay_ms;
    return cause->retry_delay.ms > 0 ? cause->retry_delay.ms : 1;
}

void rpc_status_make(const struct rpc_status_cause *cause, struct rpc_status *out) {
    CHECK(cause->err != ERR_OK);
    struct rpc_fault from_policy;
    const struct rpc_fault *fault = NULL;
    if (cause->err == ERR_INVALID_ARGUMENT) {
        fault = cause->fault;
        if (fault == NULL && cause->op != NULL) {
            fault_of_policy(cause, &from_policy);
            fault = &from_policy;
        }
    }
    const char *state = state_of(cause);
    out->code = error_grpc_code(cause->err);
    message_of(cause, fault, state, out->message, sizeof out->message);

    struct status_details details;
    details_start(&details, out->code, out->message);
    details_error_info(&details, cause->err, state, fault);
    if (fault != NULL) details_bad_request(&details, fault);
    int64_t delay_ms = retry_delay_ms(cause);
    if (delay_ms > 0) details_retry_info(&details, delay_ms);

    out->details_len = protobuf_c_message_get_packed_size(&details.status.base);
    CHECK(out->details_len <= sizeof out->details);
    CHECK(protobuf_c_message_pack(&details.status.base, out->details) == out->details_len);
}
