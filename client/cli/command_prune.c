#include <unistd.h>

#include "command.h"

enum { BEFORE, CONSUMER, DRY_RUN, FORCE };

static const struct option_spec specs[] = {
    [BEFORE] = {OPTION_TIME, 0, "before", "TIME|now|-7d",
                "remove what was last updated before; TIME is RFC 3339", true, 0},
    [CONSUMER] = {OPTION_TEXT, 0, "consumer", "NAME", "only this consumer's", 0, 0},
    [DRY_RUN] = {OPTION_FLAG, 0, "dry-run", NULL, "count only, remove nothing", 0, 0},
    [FORCE] = {OPTION_FLAG, 0, "force", NULL,
               "also inside the redelivery window: what the broker redelivers is done again", 0, 0},
};

static bool show_progress(void *context, uint64_t scanned_count, uint64_t removed_count) {
    (void)context;
    fprintf(stderr, "\rscanned %llu, removed %llu", (unsigned long long)scanned_count,
            (unsigned long long)removed_count);
    return true;
}

static int run(struct invocation *in) {
    bool people_watch = isatty(STDERR_FILENO) == 1;
    struct claimd_prune_request request = CLAIMD_PRUNE_REQUEST_INIT;
    request.consumer = command_text(in, CONSUMER);
    request.before_ms = command_ms(in, BEFORE);
    request.dry_run = command_flag(in, DRY_RUN);
    request.force = command_flag(in, FORCE);
    request.timeout_ms = in->timeout_ms;
    request.on_progress = people_watch ? show_progress : NULL;
    claimd_prune_result *result;
    struct claimd_error error;
    enum claimd_status status = claimd_prune(in->client, &request, &result, &error);
    // Back to the start of the line, and clear it, so that the counts are said once.
    if (people_watch) fputs("\r\033[K", stderr);
    if (status != CLAIMD_OK) return command_fail_with(in, &error);
    struct output out;
    output_init(&out, in->format);
    output_u64(&out, "scanned_count", claimd_prune_result_scanned_count(result));
    output_u64(&out, "removed_count", claimd_prune_result_removed_count(result));
    output_bool(&out, "done", true);
    claimd_prune_result_free(result);
    return command_answer(&out, EXIT_DONE);
}

const struct command command_prune = {
    .summary = "Remove final claims by age; the same messages are claimed anew afterwards",
    .grammar = {"prune", "", 0, COMMAND_SPECS(specs)},
    .example = "prune --before -7d --consumer billing/capture --dry-run",
    .notes = "With --dry-run removed_count says how many would be removed.",
    .run = run,
};
