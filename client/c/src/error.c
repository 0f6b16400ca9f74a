#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <google/rpc/status.pb-c.h>

#include "wire.h"

#define DOMAIN "claimd"
#define TYPE_PREFIX "type.googleapis.com/google.rpc."

void claimd__error_clear(struct claimd_error *error) {
    memset(error, 0, sizeof *error);
    error->retry_after_ms = CLAIMD_UNSET_MS;
}

struct claimd_error *claimd__error_begin(struct claimd_error *given, struct claimd_error *spare) {
    struct claimd_error *error = given != NULL ? given : spare;
    claimd__error_clear(error);
    return error;
}

// Where text is cut that may be at most max bytes and is longer: before a UTF-8 character.
static size_t text_cut(const unsigned char *text, size_t max) {
    while (max > 0 && (text[max] & 0xC0) == 0x80) max--;
    return max;
}

// Copies text into a fixed field as far as it fits.
static void text_set(char *field, size_t field_size, const void *text, size_t size) {
    if (size >= field_size) size = text_cut(text, field_size - 1);
    if (size > 0) memcpy(field, text, size);
    field[size] = '\0';
}

#define TEXT_SET(field, text) text_set((field), sizeof(field), (text), strlen(text))

enum claimd_status claimd__error_argument(struct claimd_error *error, const char *field,
                                          const char *message) {
    claimd__error_clear(error);
    error->status = CLAIMD_INVALID_ARGUMENT;
    TEXT_SET(error->reason, "INVALID_ARGUMENT");
    TEXT_SET(error->field, field);
    TEXT_SET(error->message, message);
    return error->status;
}

enum claimd_status claimd__error_memory(struct claimd_error *error) {
    claimd__error_clear(error);
    error->status = CLAIMD_RESOURCE_EXHAUSTED;
    TEXT_SET(error->reason, "NO_MEMORY");
    TEXT_SET(error->message, "the client is out of memory");
    return error->status;
}

enum claimd_status claimd__error_garbled(struct claimd_error *error, const char *message) {
    claimd__error_clear(error);
    error->status = CLAIMD_INTERNAL;
    error->maybe_happened = true;
    TEXT_SET(error->reason, "GARBLED_ANSWER");
    TEXT_SET(error->message, message);
    return error->status;
}

bool claimd__error_is_transient(const struct claimd_error *error) {
    switch (error->status) {
    case CLAIMD_UNAVAILABLE:
        return true;
    case CLAIMD_CANCELLED:
    case CLAIMD_UNKNOWN:
    case CLAIMD_INTERNAL:
    case CLAIMD_RESOURCE_EXHAUSTED:
        return error->reason[0] == '\0';
    case CLAIMD_OK:
    case CLAIMD_INVALID_ARGUMENT:
    case CLAIMD_DEADLINE_EXCEEDED:
    case CLAIMD_NOT_FOUND:
    case CLAIMD_ALREADY_EXISTS:
    case CLAIMD_PERMISSION_DENIED:
    case CLAIMD_FAILED_PRECONDITION:
    case CLAIMD_ABORTED:
    case CLAIMD_OUT_OF_RANGE:
    case CLAIMD_UNIMPLEMENTED:
    case CLAIMD_DATA_LOSS:
    case CLAIMD_UNAUTHENTICATED:
        break;
    }
    return false;
}

// A status without the service's own ErrorInfo comes from the transport, or from something between,
// and may hide a change; with it, only a failure inside the service can.
static bool may_hide_change(enum claimd_status status, bool from_service) {
    switch (status) {
    case CLAIMD_CANCELLED:
    case CLAIMD_UNKNOWN:
    case CLAIMD_DEADLINE_EXCEEDED:
    case CLAIMD_INTERNAL:
    case CLAIMD_DATA_LOSS:
        return true;
    case CLAIMD_UNAVAILABLE:
    case CLAIMD_RESOURCE_EXHAUSTED:
    case CLAIMD_ABORTED:
        return !from_service;
    case CLAIMD_OK:
    case CLAIMD_INVALID_ARGUMENT:
    case CLAIMD_NOT_FOUND:
    case CLAIMD_ALREADY_EXISTS:
    case CLAIMD_PERMISSION_DENIED:
    case CLAIMD_FAILED_PRECONDITION:
    case CLAIMD_OUT_OF_RANGE:
    case CLAIMD_UNIMPLEMENTED:
    case CLAIMD_UNAUTHENTICATED:
        break;
    }
    return false;
}

static enum claimd_state state_by_name(const char *name) {
    static const char prefix[] = "CLAIM_STATE_";
    if (strncmp(name, prefix, sizeof prefix - 1) == 0) name += sizeof prefix - 1;
    for (int i = CLAIMD_STATE_RECEIVED; i <= CLAIMD_STATE_DISCARDED; i++) {
        if (strcmp(name, claimd_state_name((enum claimd_state)i)) == 0) return (enum claimd_state)i;
    }
    return CLAIMD_STATE_UNSPECIFIED;
}

static void read_error_info(struct claimd_error *error, const ProtobufCBinaryData *value) {
    Google__Rpc__ErrorInfo *info =
        google__rpc__error_info__unpack(&claimd__wire_allocator, value->len, value->data);
    if (info == NULL) return;
    if (strcmp(info->domain, DOMAIN) == 0) {
        TEXT_SET(error->reason, info->reason);
        for (size_t i = 0; i < info->n_metadata; i++) {
            if (strcmp(info->metadata[i]->key, "state") == 0) {
                error->state = state_by_name(info->metadata[i]->value);
            }
        }
    }
    google__rpc__error_info__free_unpacked(info, &claimd__wire_allocator);
}

static void read_bad_request(struct claimd_error *error, const ProtobufCBinaryData *value) {
    Google__Rpc__BadRequest *bad =
        google__rpc__bad_request__unpack(&claimd__wire_allocator, value->len, value->data);
    if (bad == NULL) return;
    if (bad->n_field_violations > 0) TEXT_SET(error->field, bad->field_violations[0]->field);
    google__rpc__bad_request__free_unpacked(bad, &claimd__wire_allocator);
}

static void read_retry_info(struct claimd_error *error, const ProtobufCBinaryData *value) {
    Google__Rpc__RetryInfo *retry =
        google__rpc__retry_info__unpack(&claimd__wire_allocator, value->len, value->data);
    if (retry == NULL) return;
    error->retry_after_ms = claimd__wire_duration_up_ms(retry->retry_delay);
    google__rpc__retry_info__free_unpacked(retry, &claimd__wire_allocator);
}

static void read_details(struct claimd_error *error, struct claimd_bytes details) {
    if (details.size == 0) return;
    Google__Rpc__Status *status =
        google__rpc__status__unpack(&claimd__wire_allocator, details.size, details.data);
    if (status == NULL) return;
    for (size_t i = 0; i < status->n_details; i++) {
        const Google__Protobuf__Any *any = status->details[i];
        if (strcmp(any->type_url, TYPE_PREFIX "ErrorInfo") == 0) {
            read_error_info(error, &any->value);
        } else if (strcmp(any->type_url, TYPE_PREFIX "BadRequest") == 0) {
            read_bad_request(error, &any->value);
        } else if (strcmp(any->type_url, TYPE_PREFIX "RetryInfo") == 0) {
            read_retry_info(error, &any->value);
        }
    }
    google__rpc__status__free_unpacked(status, &claimd__wire_allocator);
}

enum claimd_status claimd__error_status(struct claimd_error *error, int code,
                                        struct claimd_bytes message, struct claimd_bytes details) {
    claimd__error_clear(error);
    error->status = code >= CLAIMD_CANCELLED && code <= CLAIMD_UNAUTHENTICATED
                        ? (enum claimd_status)code
                        : CLAIMD_UNKNOWN;
    text_set(error->message, sizeof error->message, message.data, message.size);
    read_details(error, details);
    error->maybe_happened = may_hide_change(error->status, error->reason[0] != '\0');
    error->retryable = claimd__error_is_transient(error) ||
                       error->status == CLAIMD_DEADLINE_EXCEEDED ||
                       error->retry_after_ms != CLAIMD_UNSET_MS;
    return error->status;
}

void claimd__error_append(struct claimd_error *error, const char *format, ...) {
    char text[sizeof error->message];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t used = strlen(error->message);
    text_set(error->message + used, sizeof error->message - used, text, strlen(text));
}

bool claimd_error_is_stale_token(const struct claimd_error *error) {
    return error != NULL && error->status == CLAIMD_FAILED_PRECONDITION &&
           strcmp(error->reason, "STALE_TOKEN") == 0;
}
