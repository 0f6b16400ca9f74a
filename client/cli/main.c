// claimctl: the command-line client of claimd, on libclaimd only.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "text.h"

#define SERVER_DEFAULT "127.0.0.1:7420"

static const struct command *const commands[] = {
    &command_begin,   &command_complete, &command_reject,  &command_fail,    &command_renew,
    &command_release, &command_register, &command_cancel,  &command_resolve, &command_get,
    &command_prune,   &command_health,   &command_version,
};
#define COMMANDS_COUNT (sizeof commands / sizeof commands[0])

static const struct option_grammar program = {NULL, "", 0, NULL, 0};

static void print_program_help(void) {
    fputs("Usage: ", stdout);
    option_print_usage(&program, stdout);
    fputs("\n\nClaims messages before their effect, so that it happens once.\n\nCommands:\n",
          stdout);
    for (size_t i = 0; i < COMMANDS_COUNT; i++) {
        printf("  %-10s  %s\n", commands[i]->grammar.command, commands[i]->summary);
    }
    fputs("\nOptions, before or after the command:\n", stdout);
    option_print_help(option_globals, GLOBAL_COUNT, stdout);
    fputs("\nExit code: 0 done, 2 usage, 3 unavailable or timed out, 4 not found, 5 stale token,\n"
          "6 failed precondition, 7 invalid argument, 1 anything else. begin has more: see\n"
          "claimctl begin --help. With -o json errors are JSON too, on stderr.\n"
          "\nExample:\n"
          "  claimctl begin billing/capture pi_123:captured --lease 30s\n"
          "  claimctl COMMAND --help\n",
          stdout);
}

static void print_command_help(const struct command *command) {
    fputs("Usage: ", stdout);
    option_print_usage(&command->grammar, stdout);
    printf("\n\n%s.\n", command->summary);
    if (command->grammar.specs_count > 0) {
        fputs("\nOptions:\n", stdout);
        option_print_help(command->grammar.specs, command->grammar.specs_count, stdout);
    }
    fputs("\nOptions of every command:\n", stdout);
    option_print_help(option_globals, GLOBAL_COUNT, stdout);
    if (command->notes != NULL) printf("\n%s\n", command->notes);
    printf("\nExample:\n  claimctl %s\n", command->example);
}

static const struct command *find_command(const char *name) {
    const char *words[COMMANDS_COUNT + 1] = {NULL};
    for (size_t i = 0; i < COMMANDS_COUNT; i++) {
        if (strcmp(commands[i]->grammar.command, name) == 0) return commands[i];
        words[i] = commands[i]->grammar.command;
    }
    const char *nearest = option_nearest(name, words);
    fprintf(stderr, "claimctl: unknown command '%s'", name);
    if (nearest != NULL) fprintf(stderr, "; did you mean %s?", nearest);
    fputs("\nTry claimctl --help\n", stderr);
    return NULL;
}

// People who wait are told why, once.
static void tell_retry(void *context, const struct claimd_error *error, int64_t delay_ms) {
    const char **server = context;
    (void)delay_ms;
    if (*server == NULL) return;
    char *message = text_escape(error->message, strlen(error->message));
    fprintf(stderr, "claimctl: %s: %s: %s; still trying\n", *server,
            claimd_status_name(error->status), message != NULL ? message : "");
    free(message);
    *server = NULL;
}

static int run_command(const struct command *command, const struct option_values *values) {
    const struct option_value *globals = values->globals;
    const char *environment = getenv("CLAIMD_SERVER");
    const char *fallback =
        environment != NULL && environment[0] != '\0' ? environment : SERVER_DEFAULT;
    struct invocation in = {
        .values = values,
        .format = globals[GLOBAL_OUTPUT].number == 1 ? OUTPUT_JSON : OUTPUT_TABLE,
        .server = globals[GLOBAL_SERVER].given ? globals[GLOBAL_SERVER].text : fallback,
        .timeout_ms = globals[GLOBAL_TIMEOUT].given ? globals[GLOBAL_TIMEOUT].ms : CLAIMD_UNSET_MS,
    };
    const char *server_to_tell = in.server;
    struct claimd_options options = CLAIMD_OPTIONS_INIT;
    options.target = in.server;
    options.user_agent = "claimctl/" CLAIMD_VERSION_STRING;
    options.no_retry = command->asks_once;
    if (in.format == OUTPUT_TABLE && isatty(STDERR_FILENO) == 1) {
        options.on_retry = tell_retry;
        options.on_retry_context = &server_to_tell;
    }
    struct claimd_error error;
    if (claimd_client_open(&options, &in.client, &error) != CLAIMD_OK) {
        return command_fail_with(&in, &error);
    }
    int code = command->run(&in);
    claimd_client_close(in.client);
    return code;
}

static int usage_exit_code(enum option_result result) {
    return result == OPTION_USAGE ? EXIT_USAGE : EXIT_OTHER;
}

int main(int argc, char **argv) {
    struct option_values values;
    memset(&values, 0, sizeof values);
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("claimctl %s\n", claimd_version());
        return EXIT_DONE;
    }
    int next;
    enum option_result result = option_parse(&program, argc, argv, &values, &next);
    if (result != OPTION_OK) return usage_exit_code(result);
    if (values.globals[GLOBAL_HELP].given) {
        print_program_help();
        return EXIT_DONE;
    }
    if (next >= argc) {
        fputs("claimctl: a command is missing\nTry claimctl --help\n", stderr);
        return EXIT_USAGE;
    }
    const struct command *command = find_command(argv[next]);
    if (command == NULL) return EXIT_USAGE;
    int code;
    result = option_parse(&command->grammar, argc - next, argv + next, &values, &next);
    if (result != OPTION_OK) {
        code = usage_exit_code(result);
    } else if (values.globals[GLOBAL_HELP].given) {
        print_command_help(command);
        code = EXIT_DONE;
    } else {
        code = run_command(command, &values);
    }
    option_values_deinit(&values);
    return code;
}
