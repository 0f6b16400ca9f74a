// The words of the API for enum values: a value's proto name without its type's prefix.
#include <claimd.h>

#define NAME_OF(names, value)                                                                      \
    ((size_t)(value) < sizeof(names) / sizeof((names)[0]) ? (names)[(size_t)(value)]               \
                                                          : "UNRECOGNIZED")

const char *claimd_version(void) { return CLAIMD_VERSION_STRING; }

const char *claimd_state_name(enum claimd_state state) {
    static const char *const names[] = {
        "UNSPECIFIED", "RECEIVED", "PROCESSING",    "RETRYING",  "UNKNOWN",
        "SUCCEEDED",   "REJECTED", "DEAD_LETTERED", "DISCARDED",
    };
    return NAME_OF(names, state);
}

const char *claimd_failure_kind_name(enum claimd_failure_kind kind) {
    static const char *const names[] = {
        "UNSPECIFIED", "TRANSIENT", "UNCLASSIFIED", "POISON", "OUTCOME_UNKNOWN", "LAPSED",
    };
    return NAME_OF(names, kind);
}

const char *claimd_attempt_end_name(enum claimd_attempt_end end) {
    static const char *const names[] = {
        "UNSPECIFIED", "LAPSED",  "FAILED",    "RELEASED",
        "RECLAIMED",   "EXPIRED", "COMPLETED", "REJECTED",
    };
    return NAME_OF(names, end);
}

const char *claimd_begin_outcome_name(enum claimd_begin_outcome outcome) {
    static const char *const names[] = {
        "UNSPECIFIED", "CLAIMED",         "DUPLICATE",     "IN_FLIGHT",
        "NOT_YET",     "OUTCOME_UNKNOWN", "DEAD_LETTERED", "OUT_OF_ORDER",
    };
    return NAME_OF(names, outcome);
}

const char *claimd_status_name(enum claimd_status status) {
    static const char *const names[] = {
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    };
    return NAME_OF(names, status);
}
