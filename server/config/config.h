// The program's options: from the command line into one struct.
//
// Every option is one row of a table, from which --help is printed too. Used by main alone.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum config_command {
    CONFIG_SERVE,
    CONFIG_INIT,
    CONFIG_HELP,
    CONFIG_VERSION,
};

struct config {
    enum config_command command;
    const char *data_dir;
    const char *listen;
    bool insecure;
    bool create; // make the store if there is none
    bool durability_relaxed;
    uint64_t disk_soft_reserve_bytes;
    uint64_t disk_hard_reserve_bytes;
};

// Reads the command line; texts are borrowed from argv. ERR_INVALID_ARGUMENT with detail.
MUST_CHECK enum err config_read(int argc, char **argv, struct config *out,
                                struct error_detail *detail);

// Prints the help to stdout.
void config_print_help(void);
