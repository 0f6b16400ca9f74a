// The subcommands, and what they share.
//
// A command reads its options, makes one call of libclaimd, describes the answer, and returns the
// exit code. It never parses text of the service.
#pragma once

#include "option.h"
#include "output.h"

// Exit codes. Those of begin's outcomes are EXIT_OUTCOME_FIRST plus the outcome's number less two.
enum {
    EXIT_DONE = 0,
    EXIT_OTHER = 1,
    EXIT_USAGE = 2,
    EXIT_UNAVAILABLE = 3,
    EXIT_NOT_FOUND = 4,
    EXIT_STALE_TOKEN = 5,
    EXIT_FAILED_PRECONDITION = 6,
    EXIT_INVALID_ARGUMENT = 7,
    EXIT_DUPLICATE = 10,
    EXIT_IN_FLIGHT = 11,
    EXIT_NOT_YET = 12,
    EXIT_DEAD_LETTERED = 13,
    EXIT_OUTCOME_UNKNOWN = 14,
    EXIT_OUT_OF_ORDER = 15
};

// One run of a command.
struct invocation {
    const struct option_values *values;
    enum output_format format;
    const char *server;
    int64_t timeout_ms; // CLAIMD_UNSET_MS if none was given
    claimd_client *client;
};

struct command {
    const char *summary;
    struct option_grammar grammar;
    const char *example; // without the program's name
    const char *notes;   // more lines for its help, or NULL
    bool asks_once;      // an absent service is the answer: never try again
    int (*run)(struct invocation *in);
};

extern const struct command command_begin;
extern const struct command command_complete;
extern const struct command command_reject;
extern const struct command command_fail;
extern const struct command command_renew;
extern const struct command command_release;
extern const struct command command_register;
extern const struct command command_cancel;
extern const struct command command_resolve;
extern const struct command command_get;
extern const struct command command_prune;
extern const struct command command_health;
extern const struct command command_version;

#define COMMAND_SPECS(table) (table), (int)(sizeof(table) / sizeof((table)[0]))

// A value of the command's own options; a duration or time is CLAIMD_UNSET_MS, text NULL and a body
// absent if it was not given.
const char *command_text(const struct invocation *in, int option);
int64_t command_ms(const struct invocation *in, int option);
struct claimd_bytes command_bytes(const struct invocation *in, int option);
uint64_t command_number(const struct invocation *in, int option);
bool command_flag(const struct invocation *in, int option);

// Prints an error in the invocation's format to stderr; returns its exit code.
int command_fail_with(const struct invocation *in, const struct claimd_error *error);

// Writes the answer to stdout; returns code, or EXIT_OTHER if it could not be written whole.
int command_answer(struct output *out, int code);

// Parts of answers that several commands have.
void command_show_failure(struct output *out, const char *key, const claimd_failure *failure);
void command_show_lease(struct output *out, int64_t remaining_ms, int64_t expire_time_ms);
