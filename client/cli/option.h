// Options of a subcommand: one table says how they are parsed and what the help prints.
//
// Owns the command line's grammar; knows nothing of claims. Problems are printed to stderr with a
// hint of what to type instead.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <claimd.h>

enum option_kind {
    OPTION_TEXT,
    OPTION_FLAG,
    OPTION_DURATION, // into ms
    OPTION_TIME,     // into ms, since 1970
    OPTION_NUMBER,   // into number
    OPTION_HEX,      // into bytes
    OPTION_CHOICE,   // into number: the place, from 0, in the words of `argument`
    OPTION_BODY      // --NAME TEXT or --NAME-file FILE ("-" is stdin), not both; into bytes
};

struct option_spec {
    enum option_kind kind;
    char letter;          // short form, or 0
    const char *name;     // long form
    const char *argument; // as the help shows it; for OPTION_CHOICE the words, joined with |
    const char *help;
    bool required;
    bool off_usage; // not in the usage line, for what few people need
};

struct option_value {
    bool given;
    const char *text;
    int64_t ms;
    uint64_t number;
    struct claimd_bytes bytes;
    void *owned; // what bytes point to, if it is ours
};

#define OPTIONS_MAX 16
#define POSITIONALS_MAX 2

// What every subcommand takes besides its own options; also taken before the subcommand.
enum { GLOBAL_OUTPUT, GLOBAL_SERVER, GLOBAL_TIMEOUT, GLOBAL_HELP, GLOBAL_COUNT };
extern const struct option_spec option_globals[GLOBAL_COUNT];

// A subcommand as its user sees it.
struct option_grammar {
    const char *command;     // NULL for the program itself
    const char *positionals; // "CONSUMER MESSAGE_ID", or ""
    int positionals_count;
    const struct option_spec *specs;
    int specs_count; // at most OPTIONS_MAX
};

// What was typed. Zero-initialise, free with option_values_deinit.
struct option_values {
    struct option_value globals[GLOBAL_COUNT];
    struct option_value own[OPTIONS_MAX];
    const char *positionals[POSITIONALS_MAX];
};

enum option_result { OPTION_OK, OPTION_USAGE, OPTION_UNREADABLE };

// Parses argv[1..] by a grammar, own and global options mixed in any order; an option given twice
// counts as it was given last. If grammar->command is NULL it stops at the first word that is no
// option, and *out_next is its place. With GLOBAL_HELP given nothing else is asked for. Anything
// but OPTION_OK has been explained on stderr.
enum option_result option_parse(const struct option_grammar *grammar, int argc, char **argv,
                                struct option_values *values, int *out_next);

void option_values_deinit(struct option_values *values);

// "claimctl begin CONSUMER MESSAGE_ID [--lease 30s] ...", without a newline.
void option_print_usage(const struct option_grammar *grammar, FILE *file);

// One line for each option, aligned.
void option_print_help(const struct option_spec *specs, int count, FILE *file);

// The nearest of some words to one that was typed, NULL if none is near. words end with NULL.
const char *option_nearest(const char *typed, const char *const *words);
