// Start-up: what the engine keeps in memory is read from the store, once.
#include <string.h>

#include "base/log.h"
#include "base/scope.h"
#include "codec/record_codec.h"
#include "engine/engine_private.h"
#include "store/store_scan.h"

static enum err load_clock(struct engine *engine, struct error_detail *detail) {
    SCOPE_BUF struct buf value = {0};
    struct keyspace_clock clock;
    enum err err = store_get(engine->options.store, KEYSPACE_META, keyspace_clock_key(),
                             STORE_MAY_READ, &value);
    if (err == ERR_OK) err = keyspace_parse_clock(buf_bytes(&value), &clock);
    if (err != ERR_OK) {
        error_detail_set(detail,
                         "the store's clock and token counter cannot be read (%s): the "
                         "store is damaged; restore a backup",
                         error_reason(err));
        return err == ERR_NOT_FOUND ? ERR_CORRUPT : err;
    }
    engine->token_next = clock.token_next;
    if (engine->options.store_is_relaxed) {
        // Tokens that were handed out are below this, unless the wall clock was set back since.
        int64_t wall_us = engine_wall_now(engine).ms * 1000;
        if (wall_us > 0 && (uint64_t)wall_us > engine->token_next) {
            engine->token_next = (uint64_t)wall_us;
        }
    }
    engine->base_store = clock.mark;
    engine->mark = clock.mark;
    engine->position = store_position(engine->options.store);
    engine->high_water_position = engine->position;
    return ERR_OK;
}

// Calls `each` for every entry of a family under a prefix, until it fails.
static enum err for_each(struct engine *engine, enum keyspace_family family, struct bytes prefix,
                         enum err (*each)(struct engine *, struct bytes, struct bytes)) {
    struct store_scan *scan;
    struct bytes key;
    struct bytes value;
    enum err err = store_scan_open(engine->options.store, family, prefix, &scan);
    if (err != ERR_OK) return err;
    while ((err = store_scan_next(scan, &key, &value)) == ERR_OK) {
        err = each(engine, key, value);
        if (err != ERR_OK) break;
    }
    store_scan_close(scan);
    return err == ERR_NOT_FOUND ? ERR_OK : err;
}

static enum err load_name(struct engine *engine, struct bytes key, struct bytes value) {
    uint32_t number;
    struct keyspace_consumer names;
    enum err err = keyspace_parse_consumer_key(key, &number);
    if (err == ERR_OK) err = keyspace_parse_consumer(value, &names);
    if (err == ERR_OK) err = consumers_load(&engine->consumers, number, &names);
    return err;
}

static enum err load_counts(struct engine *engine, struct bytes key, struct bytes value) {
    uint32_t number;
    enum err err = keyspace_parse_counts_key(key, &number);
    if (err != ERR_OK) return err;
    struct consumer *consumer = consumers_at(&engine->consumers, number);
    if (consumer == NULL) return ERR_CORRUPT;
    return keyspace_parse_counts(value, &consumer->counts);
}

static enum err load_open(struct engine *engine, struct bytes key, struct bytes value) {
    SCOPE_BUF struct buf message_id = {0};
    uint32_t number;
    struct claim_record record;
    enum err err = keyspace_parse_claim(key, &number, &message_id);
    if (err == ERR_OK) err = record_codec_decode(value, &record);
    if (err != ERR_OK) return err;
    const struct consumer *consumer = consumers_at(&engine->consumers, number);
    if (consumer == NULL || claim_state_is_final(record.state)) return ERR_CORRUPT;
    struct identity identity = {.tenant = consumer_tenant(consumer),
                                .consumer = consumer_name(consumer),
                                .message_id = buf_bytes(&message_id)};
    engine_note_deadlines(engine, &record, &identity, false);
    engine->stats.records_by_state[record.state - 1]++; // for check_counts
    return ERR_OK;
}

// Counts that are not those of the open records would end the process at some later command.
static enum err check_counts(struct engine *engine, struct error_detail *detail) {
    uint64_t counted[CLAIM_STATES];
    uint64_t *there = engine->stats.records_by_state;
    enum err err = ERR_OK;
    consumers_total(&engine->consumers, counted);
    for (int i = 0; i < CLAIM_STATES; i++) {
        if (claim_state_is_final((enum claim_state)(i + 1)) || counted[i] == there[i]) continue;
        error_detail_set(detail,
                         "the store's counts of records are wrong (%s: %llu counted, %llu there "
                         "are): the store is damaged; restore a backup",
                         claim_state_name((enum claim_state)(i + 1)),
                         (unsigned long long)counted[i], (unsigned long long)there[i]);
        err = ERR_CORRUPT;
    }
    memset(there, 0, sizeof engine->stats.records_by_state);
    return err;
}

enum err engine_load(struct engine *engine, struct error_detail *detail) {
    static const struct {
        enum keyspace_family family;
        struct bytes (*prefix)(void);
        enum err (*each)(struct engine *, struct bytes, struct bytes);
        const char *what;
    } parts[] = {
        {KEYSPACE_META, keyspace_consumer_prefix, load_name, "names of consumers"},
        {KEYSPACE_META, keyspace_counts_prefix, load_counts, "counts of records"},
        {KEYSPACE_OPEN, NULL, load_open, "open records"},
    };
    enum err err = load_clock(engine, detail);
    if (err != ERR_OK) return err;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct bytes prefix = parts[i].prefix == NULL ? (struct bytes){0} : parts[i].prefix();
        err = for_each(engine, parts[i].family, prefix, parts[i].each);
        if (err != ERR_OK) {
            error_detail_set(detail,
                             "the store's %s cannot be read (%s): the store is damaged; "
                             "restore a backup",
                             parts[i].what, error_reason(err));
            return err;
        }
    }
    return check_counts(engine, detail);
}
