#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

static const struct option_value *value_at(const struct invocation *in, int option) {
    return &in->values->own[option];
}

const char *command_text(const struct invocation *in, int option) {
    return value_at(in, option)->given ? value_at(in, option)->text : NULL;
}

int64_t command_ms(const struct invocation *in, int option) {
    return value_at(in, option)->given ? value_at(in, option)->ms : CLAIMD_UNSET_MS;
}

struct claimd_bytes command_bytes(const struct invocation *in, int option) {
    struct claimd_bytes absent = CLAIMD_BYTES_ABSENT;
    return value_at(in, option)->given ? value_at(in, option)->bytes : absent;
}

uint64_t command_number(const struct invocation *in, int option) {
    return value_at(in, option)->number;
}

bool command_flag(const struct invocation *in, int option) { return value_at(in, option)->given; }

static int exit_code_of(const struct claimd_error *error) {
    switch (error->status) {
    case CLAIMD_UNAVAILABLE:
    case CLAIMD_DEADLINE_EXCEEDED:
        return EXIT_UNAVAILABLE;
    case CLAIMD_NOT_FOUND:
        return EXIT_NOT_FOUND;
    case CLAIMD_INVALID_ARGUMENT:
        return EXIT_INVALID_ARGUMENT;
    case CLAIMD_FAILED_PRECONDITION:
        return claimd_error_is_stale_token(error) ? EXIT_STALE_TOKEN : EXIT_FAILED_PRECONDITION;
    case CLAIMD_OK:
    case CLAIMD_CANCELLED:
    case CLAIMD_UNKNOWN:
    case CLAIMD_ALREADY_EXISTS:
    case CLAIMD_PERMISSION_DENIED:
    case CLAIMD_RESOURCE_EXHAUSTED:
    case CLAIMD_ABORTED:
    case CLAIMD_OUT_OF_RANGE:
    case CLAIMD_UNIMPLEMENTED:
    case CLAIMD_INTERNAL:
    case CLAIMD_DATA_LOSS:
    case CLAIMD_UNAUTHENTICATED:
        break;
    }
    return EXIT_OTHER;
}

static void error_print_json(const struct claimd_error *error) {
    struct output out;
    output_init(&out, OUTPUT_JSON);
    output_open(&out, "error");
    output_word(&out, "code", claimd_status_name(error->status));
    output_text(&out, "reason", error->reason);
    output_text(&out, "message", error->message);
    output_text(&out, "field", error->field);
    if (error->state != CLAIMD_STATE_UNSPECIFIED) {
        output_word(&out, "state", claimd_state_name(error->state));
    }
    output_duration(&out, "retry_after", error->retry_after_ms);
    output_flag(&out, "maybe_happened", error->maybe_happened);
    output_close(&out);
    output_finish(&out, stderr);
}

static void error_print_text(const struct claimd_error *error) {
    char *message = text_escape(error->message, strlen(error->message));
    fprintf(stderr, "claimctl: %s", claimd_status_name(error->status));
    // A reason that only repeats the code says nothing.
    if (error->reason[0] != '\0' && strcmp(error->reason, claimd_status_name(error->status)) != 0) {
        fprintf(stderr, " %s", error->reason);
    }
    fprintf(stderr, ": %s", message != NULL ? message : "");
    // What the message says already is not said again.
    if (strstr(error->message, error->field) == NULL) {
        fprintf(stderr, " (field %s)", error->field);
    }
    const char *state = claimd_state_name(error->state);
    if (error->state != CLAIMD_STATE_UNSPECIFIED && strstr(error->message, state) == NULL) {
        fprintf(stderr, " (the claim is %s)", state);
    }
    fputc('\n', stderr);
    if (error->maybe_happened) {
        fputs("claimctl: it may have happened all the same: the same command again is safe and "
              "tells\n",
              stderr);
    }
    free(message);
}

int command_fail_with(const struct invocation *in, const struct claimd_error *error) {
    if (in->format == OUTPUT_JSON)
        error_print_json(error);
    else
        error_print_text(error);
    return exit_code_of(error);
}

int command_answer(struct output *out, int code) {
    if (output_finish(out, stdout)) return code;
    fprintf(stderr, "claimctl: the answer could not be written: %s\n", strerror(errno));
    return EXIT_OTHER;
}

void command_show_failure(struct output *out, const char *key, const claimd_failure *failure) {
    if (failure == NULL) return;
    output_open(out, key);
    output_word(out, "kind", claimd_failure_kind_name(claimd_failure_kind_of(failure)));
    output_text(out, "message", claimd_failure_message(failure));
    output_time(out, "occur_time", claimd_failure_time_ms(failure));
    output_close(out);
}

void command_show_lease(struct output *out, int64_t remaining_ms, int64_t expire_time_ms) {
    output_open(out, "lease");
    output_time(out, "expire_time", expire_time_ms);
    output_duration(out, "remaining", remaining_ms);
    output_close(out);
}
