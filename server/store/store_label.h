// What a data directory is, and the file that says so: DIR/claimd.store.
//
// The label is written under a temporary name before anything else and gets its own name when the
// store is complete. So an unfinished init can be told from a store that lost its label: only the
// first may be removed without a thought. Stateless; one process at a time creates.
#pragma once

#include "base/error.h"
#include "store/store_io.h"

#define STORE_LABEL_NAME "claimd.store"
#define STORE_LABEL_NAME_UNFINISHED "claimd.store.new"
#define STORE_DB_NAME "db"
#define STORE_POSITION_NAME "position"

#define STORE_FORMAT_VERSION 1

enum store_dir_kind {
    STORE_DIR_ABSENT,
    STORE_DIR_EMPTY,      // a lost+found of the file system does not count
    STORE_DIR_STORE,      // there is a label
    STORE_DIR_UNFINISHED, // an init that did not come to its end: it holds nothing
    STORE_DIR_UNLABELLED, // files of a store without its label
    STORE_DIR_FOREIGN,    // something else
};

// Looks at dir. out_entry names the entry that made it foreign or unlabelled. Returns 0 or an
// errno.
MUST_CHECK int store_label_look(const char *dir, enum store_dir_kind *out_kind,
                                char out_entry[STORE_IO_PATH_BYTES_MAX]);

// Writes the label under its temporary name, and gives it its own. Durable once the directory is
// synced, which finish does. 0 or an errno; EEXIST if an init has begun already.
MUST_CHECK int store_label_begin(const char *dir);
MUST_CHECK int store_label_finish(const char *dir);

// Opens and checks the label and takes the directory's lock, which out_fd holds until it is closed.
// ERR_LOCKED, ERR_CORRUPT (damaged, or of a newer claimd), ERR_IO, with detail.
MUST_CHECK enum err store_label_open(const char *dir, int *out_fd, struct error_detail *detail);
