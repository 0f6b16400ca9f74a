// About the server as a whole: health, version.
#include "command.h"

// --- health -------------------------------------------------------------------------------------

enum { HEALTH_SERVICE };

static const struct option_spec health_specs[] = {
    [HEALTH_SERVICE] = {OPTION_TEXT, 0, "service", "NAME",
                        "e.g. claimd.v1.ClaimService; else the server as a whole", 0, 0},
};

static int health_run(struct invocation *in) {
    struct claimd_health_request request = CLAIMD_HEALTH_REQUEST_INIT;
    request.service = command_text(in, HEALTH_SERVICE);
    request.timeout_ms = in->timeout_ms;
    bool serving;
    struct claimd_error error;
    if (claimd_health(in->client, &request, &serving, &error) != CLAIMD_OK) {
        return command_fail_with(in, &error);
    }
    const char *word = serving ? "SERVING" : "NOT_SERVING";
    int code = serving ? EXIT_DONE : EXIT_UNAVAILABLE;
    struct output out;
    output_init(&out, in->format);
    if (in->format == OUTPUT_JSON)
        output_word(&out, "status", word);
    else
        puts(word);
    return command_answer(&out, code);
}

const struct command command_health = {
    .summary = "Ask whether the server takes calls",
    .grammar = {"health", "", 0, COMMAND_SPECS(health_specs)},
    .example = "health --timeout 1s",
    .notes =
        "Exit code: 0 SERVING, 3 NOT_SERVING or no answer. It asks once and never tries again.",
    .asks_once = true,
    .run = health_run,
};

// --- version ------------------------------------------------------------------------------------

#define VERSION_TIMEOUT_MS 1000 // the server's part is a courtesy

static void show_counts(struct output *out, const claimd_server_status_result *status) {
    for (int i = CLAIMD_STATE_RECEIVED; i <= CLAIMD_STATE_DISCARDED; i++) {
        output_open_item(out, "states");
        output_word(out, "state", claimd_state_name((enum claimd_state)i));
        output_u64(out, "count", claimd_server_status_result_records(status, (enum claimd_state)i));
        output_close(out);
    }
    for (int i = CLAIMD_BEGIN_CLAIMED; i <= CLAIMD_BEGIN_OUT_OF_ORDER; i++) {
        output_open_item(out, "begins");
        output_word(out, "outcome", claimd_begin_outcome_name((enum claimd_begin_outcome)i));
        output_u64(out, "count",
                   claimd_server_status_result_begins(status, (enum claimd_begin_outcome)i));
        output_close(out);
    }
}

// All that the server says of itself, for programs.
static void show_server(struct output *out, const claimd_server_status_result *status) {
    output_open(out, "server");
    output_text(out, "version", claimd_server_status_result_version(status));
    output_time(out, "start_time", claimd_server_status_result_start_time_ms(status));
    output_flag(out, "durability_relaxed", claimd_server_status_result_durability_relaxed(status));
    output_u64(out, "applied_position", claimd_server_status_result_applied_position(status));
    output_duration(out, "store_time", claimd_server_status_result_store_time_ms(status));
    show_counts(out, status);
    output_u64(out, "replay_claimed_count",
               claimd_server_status_result_replay_claimed_count(status));
    output_duration(out, "retention", claimd_server_status_result_retention_ms(status));
    output_duration(out, "redelivery_window",
                    claimd_server_status_result_redelivery_window_ms(status));
    output_flag(out, "disk_reserve_reached",
                claimd_server_status_result_disk_reserve_reached(status));
    output_close(out);
}

static int version_run(struct invocation *in) {
    struct claimd_server_status_request request = CLAIMD_SERVER_STATUS_REQUEST_INIT;
    request.timeout_ms = in->timeout_ms != CLAIMD_UNSET_MS && in->timeout_ms < VERSION_TIMEOUT_MS
                             ? in->timeout_ms
                             : VERSION_TIMEOUT_MS;
    claimd_server_status_result *status = NULL;
    claimd_server_status(in->client, &request, &status, NULL);
    struct output out;
    output_init(&out, in->format);
    if (in->format == OUTPUT_JSON) {
        output_word(&out, "version", claimd_version());
        if (status != NULL) show_server(&out, status);
    } else {
        printf("claimctl %s\n", claimd_version());
        if (status != NULL) {
            printf("claimd %s at %s\n", claimd_server_status_result_version(status), in->server);
        }
    }
    claimd_server_status_result_free(status);
    return command_answer(&out, EXIT_DONE);
}

const struct command command_version = {
    .summary = "Show claimctl's version, and the server's if it answers within a second",
    .grammar = {"version", "", 0, NULL, 0},
    .example = "version -o json",
    .asks_once = true,
    .run = version_run,
};
