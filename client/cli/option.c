#include "option.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "value.h"

#define LONG_OPTIONS_MAX (2 * (OPTIONS_MAX + GLOBAL_COUNT) + 1)
#define NAME_BYTES 48
#define HELP_COLUMN 24
#define BODY_BYTES_READ                                                                            \
    (4 * 1024 * 1024 + 1) // one more than the library sends: it says "too large"

// What getopt returns for a long option: 256 + place, plus FILE_FORM for the -file of a body.
#define OWN_FIRST 256
#define GLOBAL_FIRST 512
#define FILE_FORM 1024

const struct option_spec option_globals[GLOBAL_COUNT] = {
    [GLOBAL_OUTPUT] = {OPTION_CHOICE, 'o', "output", "table|json", "how the answer is written", 0,
                       0},
    [GLOBAL_SERVER] = {OPTION_TEXT, 0, "server", "HOST:PORT",
                       "claimd's address; else CLAIMD_SERVER, else 127.0.0.1:7420", 0, 0},
    [GLOBAL_TIMEOUT] = {OPTION_DURATION, 0, "timeout", "10s",
                        "how long to try in all; by default a --wait comes on top", 0, 0},
    [GLOBAL_HELP] = {OPTION_FLAG, 'h', "help", NULL, "show this and exit", 0, 0},
};

// --- getopt's tables ----------------------------------------------------------------------------

struct tables {
    struct option longs[LONG_OPTIONS_MAX];
    char names[OPTIONS_MAX][NAME_BYTES]; // of the -file forms
    char shorts[2 * (OPTIONS_MAX + GLOBAL_COUNT) + 3];
    const char *words[LONG_OPTIONS_MAX]; // every long name, for suggestions
    int count;
};

static void tables_add(struct tables *tables, const struct option_spec *spec, int code) {
    struct option entry = {spec->name, spec->kind == OPTION_FLAG ? no_argument : required_argument,
                           NULL, code};
    tables->words[tables->count] = spec->name;
    tables->longs[tables->count++] = entry;
    if (spec->kind == OPTION_BODY) {
        char *name = tables->names[code - OWN_FIRST];
        snprintf(name, NAME_BYTES, "%s-file", spec->name);
        entry.name = name;
        entry.val = code | FILE_FORM;
        tables->words[tables->count] = name;
        tables->longs[tables->count++] = entry;
    }
    if (spec->letter != 0) {
        size_t used = strlen(tables->shorts);
        tables->shorts[used++] = spec->letter;
        if (spec->kind != OPTION_FLAG) tables->shorts[used++] = ':';
        tables->shorts[used] = '\0';
    }
}

static void tables_init(struct tables *tables, const struct option_grammar *grammar) {
    memset(tables, 0, sizeof *tables);
    // "+" stops at the first word; ":" reports a missing argument as such.
    snprintf(tables->shorts, sizeof tables->shorts, "%s", grammar->command == NULL ? "+:" : ":");
    for (int i = 0; i < grammar->specs_count; i++) {
        tables_add(tables, &grammar->specs[i], OWN_FIRST + i);
    }
    for (int i = 0; i < GLOBAL_COUNT; i++) {
        tables_add(tables, &option_globals[i], GLOBAL_FIRST + i);
    }
}

// --- problems -----------------------------------------------------------------------------------

const char *option_nearest(const char *typed, const char *const *words) {
    const char *nearest = NULL;
    size_t nearest_distance = SIZE_MAX;
    for (; *words != NULL; words++) {
        size_t distance = text_distance(typed, *words);
        // What was typed as a beginning is meant, however much is missing.
        if (strncmp(typed, *words, strlen(typed)) == 0 && typed[0] != '\0') distance = 1;
        if (distance < nearest_distance) {
            nearest_distance = distance;
            nearest = *words;
        }
    }
    return nearest_distance <= 2 ? nearest : NULL;
}

static void complain_begin(const struct option_grammar *grammar) {
    fprintf(stderr, "claimctl%s%s: ", grammar->command != NULL ? " " : "",
            grammar->command != NULL ? grammar->command : "");
}

static enum option_result complain_end(const struct option_grammar *grammar) {
    fputs("\nUsage: ", stderr);
    option_print_usage(grammar, stderr);
    fputc('\n', stderr);
    return OPTION_USAGE;
}

static enum option_result complain_option(const struct option_grammar *grammar,
                                          const struct tables *tables, int code, char **argv) {
    complain_begin(grammar);
    if (code == ':') {
        fprintf(stderr, "%s needs an argument", argv[optind - 1]);
        return complain_end(grammar);
    }
    char short_form[] = {'-', (char)optopt, '\0'};
    const char *typed = optopt > 0 && optopt < OWN_FIRST ? short_form : argv[optind - 1];
    if (optopt >= OWN_FIRST) {
        fprintf(stderr, "%s takes no argument", typed);
        return complain_end(grammar);
    }
    fprintf(stderr, "unknown option %s", typed);
    char name[NAME_BYTES];
    size_t length = strcspn(typed, "=");
    if (strncmp(typed, "--", 2) == 0 && length < sizeof name) {
        snprintf(name, sizeof name, "%.*s", (int)(length - 2), typed + 2);
        const char *nearest = option_nearest(name, tables->words);
        if (nearest != NULL) fprintf(stderr, "; did you mean --%s?", nearest);
    } else if (grammar->positionals_count > 0) {
        fputs("; put -- before a name that begins with -", stderr);
    }
    return complain_end(grammar);
}

static enum option_result complain_value(const struct option_grammar *grammar,
                                         const struct option_spec *spec, const char *typed,
                                         const char *forms) {
    complain_begin(grammar);
    fprintf(stderr, "--%s: '%s' is not %s", spec->name, typed, forms);
    return complain_end(grammar);
}

// --- values -------------------------------------------------------------------------------------

static bool choice_find(const char *words, const char *typed, uint64_t *out_place) {
    size_t length = strlen(typed);
    for (uint64_t place = 0; length > 0; place++) {
        size_t word = strcspn(words, "|");
        if (word == length && strncmp(words, typed, word) == 0) {
            *out_place = place;
            return true;
        }
        if (words[word] == '\0') break;
        words += word + 1;
    }
    return false;
}

// The whole of a file, or its first BODY_BYTES_READ bytes.
static enum option_result body_read(const struct option_grammar *grammar, const char *path,
                                    struct option_value *value) {
    bool from_stdin = strcmp(path, "-") == 0;
    FILE *file = from_stdin ? stdin : fopen(path, "rb");
    char *data = file != NULL ? malloc(BODY_BYTES_READ) : NULL;
    size_t size = data != NULL ? fread(data, 1, BODY_BYTES_READ, file) : 0;
    bool read = data != NULL && !ferror(file);
    int why = errno;
    if (!read) {
        complain_begin(grammar);
        fprintf(stderr, "cannot read %s: %s\n", path, strerror(why));
        free(data);
    } else {
        value->owned = data;
        value->bytes.data = data;
        value->bytes.size = size;
    }
    if (file != NULL && !from_stdin) fclose(file);
    return read ? OPTION_OK : OPTION_UNREADABLE;
}

static enum option_result body_take(const struct option_grammar *grammar,
                                    const struct option_spec *spec, const char *typed,
                                    bool from_file, struct option_value *value) {
    if (value->given) {
        complain_begin(grammar);
        fprintf(stderr, "give --%s or --%s-file once, not both", spec->name, spec->name);
        return complain_end(grammar);
    }
    value->given = true;
    if (from_file) return body_read(grammar, typed, value);
    value->bytes = claimd_bytes_of(typed);
    return OPTION_OK;
}

static enum option_result hex_take(const struct option_grammar *grammar,
                                   const struct option_spec *spec, const char *typed,
                                   struct option_value *value) {
    size_t room = strlen(typed) / 2 + 1;
    uint8_t *bytes = malloc(room);
    size_t used;
    if (bytes == NULL || !value_parse_hex(typed, bytes, room, &used)) {
        free(bytes);
        return complain_value(grammar, spec, typed, "pairs of hex digits");
    }
    free(value->owned);
    value->owned = bytes;
    value->bytes.data = bytes;
    value->bytes.size = used;
    return OPTION_OK;
}

static enum option_result value_take(const struct option_grammar *grammar,
                                     const struct option_spec *spec, const char *typed,
                                     bool from_file, struct option_value *value) {
    bool ok = true;
    const char *forms = "";
    switch (spec->kind) {
    case OPTION_FLAG:
        break;
    case OPTION_TEXT:
        value->text = typed;
        break;
    case OPTION_DURATION:
        ok = value_parse_duration_ms(typed, &value->ms);
        forms = VALUE_DURATION_FORMS;
        break;
    case OPTION_TIME:
        ok = value_parse_time_ms(typed, value_now_ms(), &value->ms);
        forms = VALUE_TIME_FORMS;
        break;
    case OPTION_NUMBER:
        ok = value_parse_u64(typed, &value->number);
        forms = "a whole number";
        break;
    case OPTION_CHOICE:
        ok = choice_find(spec->argument, typed, &value->number);
        forms = spec->argument;
        break;
    case OPTION_HEX:
        value->given = true;
        return hex_take(grammar, spec, typed, value);
    case OPTION_BODY:
        return body_take(grammar, spec, typed, from_file, value);
    }
    if (!ok) return complain_value(grammar, spec, typed, forms);
    value->given = true;
    return OPTION_OK;
}

// --- parsing ------------------------------------------------------------------------------------

// A short option's code is its letter.
static int code_of_letter(const struct option_grammar *grammar, int letter) {
    for (int i = 0; i < grammar->specs_count; i++) {
        if (grammar->specs[i].letter == letter) return OWN_FIRST + i;
    }
    for (int i = 0; i < GLOBAL_COUNT; i++) {
        if (option_globals[i].letter == letter) return GLOBAL_FIRST + i;
    }
    return '?';
}

static enum option_result options_take(const struct option_grammar *grammar, int argc, char **argv,
                                       struct option_values *values) {
    struct tables tables;
    tables_init(&tables, grammar);
    optind = 0; // GNU's way to start afresh
    opterr = 0;
    for (;;) {
        int code = getopt_long(argc, argv, tables.shorts, tables.longs, NULL);
        if (code == -1) return OPTION_OK;
        if (code == '?' || code == ':') return complain_option(grammar, &tables, code, argv);
        if (code < OWN_FIRST) code = code_of_letter(grammar, code);
        bool from_file = (code & FILE_FORM) != 0;
        code &= ~FILE_FORM;
        bool global = code >= GLOBAL_FIRST;
        int place = code - (global ? GLOBAL_FIRST : OWN_FIRST);
        enum option_result result =
            value_take(grammar, global ? &option_globals[place] : &grammar->specs[place], optarg,
                       from_file, global ? &values->globals[place] : &values->own[place]);
        if (result != OPTION_OK) return result;
    }
}

static enum option_result positionals_take(const struct option_grammar *grammar, int argc,
                                           char **argv, struct option_values *values) {
    int count = argc - optind;
    if (count != grammar->positionals_count) {
        complain_begin(grammar);
        if (count < grammar->positionals_count) {
            fprintf(stderr, "needs %s", grammar->positionals);
        } else {
            fprintf(stderr, "'%s' is one word too many", argv[optind + grammar->positionals_count]);
        }
        return complain_end(grammar);
    }
    for (int i = 0; i < count; i++) values->positionals[i] = argv[optind + i];
    return OPTION_OK;
}

enum option_result option_parse(const struct option_grammar *grammar, int argc, char **argv,
                                struct option_values *values, int *out_next) {
    enum option_result result = options_take(grammar, argc, argv, values);
    *out_next = optind;
    if (result != OPTION_OK || grammar->command == NULL) return result;
    if (values->globals[GLOBAL_HELP].given) return OPTION_OK;
    for (int i = 0; i < grammar->specs_count; i++) {
        if (!grammar->specs[i].required || values->own[i].given) continue;
        complain_begin(grammar);
        fprintf(stderr, "--%s is missing", grammar->specs[i].name);
        return complain_end(grammar);
    }
    return positionals_take(grammar, argc, argv, values);
}

void option_values_deinit(struct option_values *values) {
    for (int i = 0; i < OPTIONS_MAX; i++) free(values->own[i].owned);
    memset(values, 0, sizeof *values);
}

// --- help ---------------------------------------------------------------------------------------

// "--lease 30s", "--result TEXT|--result-file F", "-o table|json".
static void form_print(const struct option_spec *spec, char *out, size_t size) {
    if (spec->kind == OPTION_BODY) {
        snprintf(out, size, "--%s TEXT|--%s-file F", spec->name, spec->name);
    } else {
        snprintf(out, size, "--%s%s%s", spec->name, spec->argument != NULL ? " " : "",
                 spec->argument != NULL ? spec->argument : "");
    }
}

void option_print_usage(const struct option_grammar *grammar, FILE *file) {
    if (grammar->command == NULL) {
        fputs("claimctl [-o table|json] [--server HOST:PORT] [--timeout 10s] COMMAND ...", file);
        return;
    }
    fprintf(file, "claimctl %s%s%s", grammar->command, grammar->positionals_count > 0 ? " " : "",
            grammar->positionals);
    for (int i = 0; i < grammar->specs_count; i++) {
        const struct option_spec *spec = &grammar->specs[i];
        char form[128];
        if (spec->off_usage) continue;
        form_print(spec, form, sizeof form);
        fprintf(file, spec->required ? " %s" : " [%s]", form);
    }
}

void option_print_help(const struct option_spec *specs, int count, FILE *file) {
    for (int i = 0; i < count; i++) {
        char form[128];
        form_print(&specs[i], form, sizeof form);
        char letter[] = {'-', specs[i].letter, ',', ' ', '\0'};
        fprintf(file, "  %s%-*s", specs[i].letter != 0 ? letter : "    ", HELP_COLUMN, form);
        // A form that is too long for the column has its line for itself.
        if (strlen(form) >= HELP_COLUMN) fprintf(file, "\n      %-*s", HELP_COLUMN, "");
        fprintf(file, "%s\n", specs[i].help);
    }
}
