#include "sink.h"

#include <stdio.h>
#include <stdlib.h>

#include <sqlite3.h>

/* Consumers take turns at writing; one that was killed while it held the lock frees it at once. */
#define SINK_BUSY_TIMEOUT_MS 30000

enum sink_statement { SINK_BEGIN, SINK_FIND, SINK_NOTE, SINK_CHARGE, SINK_COMMIT, SINK_COUNT };

static const char *const sink_sql[SINK_COUNT] = {
    [SINK_BEGIN] = "BEGIN IMMEDIATE",
    [SINK_FIND] = "SELECT 1 FROM inbox WHERE consumer = ? AND message_id = ?",
    [SINK_NOTE] = "INSERT INTO inbox VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
    [SINK_CHARGE] = "INSERT INTO ledger VALUES (NULL, ?, ?, ?, ?)",
    [SINK_COMMIT] = "COMMIT",
};

struct sink {
    sqlite3 *db;
    sqlite3_stmt *statements[SINK_COUNT];
};

static bool sink_failed(struct sink *sink, const char *what) {
    fprintf(stderr, "consumer: ledger: %s: %s\n", what, sqlite3_errmsg(sink->db));
    return false;
}

struct sink *sink_open(const char *path) {
    struct sink *sink = calloc(1, sizeof *sink);
    if (sink == NULL) return NULL;
    if (sqlite3_open_v2(path, &sink->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite3_busy_timeout(sink->db, SINK_BUSY_TIMEOUT_MS) != SQLITE_OK ||
        sqlite3_exec(sink->db, "PRAGMA synchronous = FULL", NULL, NULL, NULL) != SQLITE_OK) {
        goto fail;
    }
    for (int i = 0; i < SINK_COUNT; i++) {
        if (sqlite3_prepare_v2(sink->db, sink_sql[i], -1, &sink->statements[i], NULL) !=
            SQLITE_OK) {
            goto fail;
        }
    }
    return sink;
fail:
    sink_failed(sink, path);
    sink_close(sink);
    return NULL;
}

void sink_close(struct sink *sink) {
    if (sink == NULL) return;
    for (int i = 0; i < SINK_COUNT; i++) sqlite3_finalize(sink->statements[i]);
    sqlite3_close(sink->db);
    free(sink);
}

/* Binds the first two parameters, where they are given; returns the statement. */
static sqlite3_stmt *sink_bind(struct sink *sink, enum sink_statement which, const char *first,
                               const char *second) {
    sqlite3_stmt *statement = sink->statements[which];
    sqlite3_reset(statement);
    if (first != NULL) sqlite3_bind_text(statement, 1, first, -1, SQLITE_TRANSIENT);
    if (second != NULL) sqlite3_bind_text(statement, 2, second, -1, SQLITE_TRANSIENT);
    return statement;
}

/* One step to the end. A read or write lock that is left behind is one that others wait for, so the
 * statement is always reset. */
static bool sink_step(sqlite3_stmt *statement, int *out_result) {
    *out_result = sqlite3_step(statement);
    sqlite3_reset(statement);
    return *out_result == SQLITE_DONE || *out_result == SQLITE_ROW;
}

bool sink_find(struct sink *sink, const char *consumer, const char *message_id, bool *out_found) {
    int result = SQLITE_ERROR;
    if (!sink_step(sink_bind(sink, SINK_FIND, consumer, message_id), &result)) {
        return sink_failed(sink, "looking into the inbox");
    }
    *out_found = result == SQLITE_ROW;
    return true;
}

static bool sink_run(struct sink *sink, enum sink_statement which) {
    int result = SQLITE_ERROR;
    return sink_step(sink_bind(sink, which, NULL, NULL), &result);
}

/* The inbox row; *out_new is false if there was one already. */
static bool sink_note(struct sink *sink, const struct charge *charge, bool *out_new) {
    sqlite3_stmt *note = sink_bind(sink, SINK_NOTE, charge->consumer, charge->message_id);
    /* Tokens stay below 2^53, so SQLite's signed integers hold them. */
    sqlite3_bind_int64(note, 3, (sqlite3_int64)charge->token);
    int result = SQLITE_ERROR;
    if (!sink_step(note, &result)) return false;
    *out_new = sqlite3_changes(sink->db) == 1;
    return true;
}

static bool sink_book(struct sink *sink, const struct charge *charge) {
    sqlite3_stmt *book = sink_bind(sink, SINK_CHARGE, charge->intent, charge->event_type);
    sqlite3_bind_int64(book, 3, charge->amount_cents);
    sqlite3_bind_text(book, 4, charge->charged_by, -1, SQLITE_TRANSIENT);
    int result = SQLITE_ERROR;
    return sink_step(book, &result);
}

bool sink_charge(struct sink *sink, const struct charge *charge, bool *out_charged) {
    if (!sink_run(sink, SINK_BEGIN)) return sink_failed(sink, "beginning");
    bool is_new = true;
    bool ok = !charge->use_inbox || sink_note(sink, charge, &is_new);
    if (ok && is_new) ok = sink_book(sink, charge);
    if (!ok || !sink_run(sink, SINK_COMMIT)) {
        sink_failed(sink, "charging");
        sqlite3_exec(sink->db, "ROLLBACK", NULL, NULL, NULL);
        return false;
    }
    *out_charged = is_new;
    return true;
}
