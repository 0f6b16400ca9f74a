// Looks into a store that no claimd has open, for what no client could see: records that are there
// twice, bodies without their record and records without their body, counts that are not those of
// the records, a token counter behind a token.
//
//   crash_inspect DIR
//
// Prints what it counted, and a line for each fault. Exit status 0 without faults, else 1.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/limits.h"
#include "base/scope.h"
#include "codec/keyspace.h"
#include "codec/record_codec.h"
#include "store/store.h"
#include "store/store_scan.h"

struct inspection {
    struct store *store;
    uint64_t counted[LIMIT_CONSUMERS_PER_TENANT_MAX + 1][CLAIM_STATES];
    uint64_t stored[LIMIT_CONSUMERS_PER_TENANT_MAX + 1][CLAIM_STATES];
    uint64_t records;
    uint64_t bodies; // that records say are in the blob family
    uint64_t blobs;  // that are there
    uint64_t token_max;
    uint64_t faults;
};

static struct inspection inspection;

static _Noreturn void die(const char *what, enum err err) {
    (void)fprintf(stderr, "crash_inspect: %s: %s\n", what, error_reason(err));
    exit(1);
}

__attribute__((format(printf, 2, 3))) static void fault(struct bytes key, const char *format, ...) {
    va_list args;
    printf("fault: key ");
    for (size_t i = 0; i < key.len; i++) printf("%02x", key.data[i]);
    printf(": ");
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    printf("\n");
    inspection.faults++;
}

static void for_each(enum keyspace_family family, struct bytes prefix,
                     void (*each)(enum keyspace_family, struct bytes, struct bytes)) {
    struct store_scan *scan;
    struct bytes key;
    struct bytes value;
    enum err err = store_scan_open(inspection.store, family, prefix, &scan);
    if (err != ERR_OK) die("scan", err);
    while ((err = store_scan_next(scan, &key, &value)) == ERR_OK) each(family, key, value);
    if (err != ERR_NOT_FOUND) die("scan", err);
    store_scan_close(scan);
}

static void look_at_body(struct bytes key, const struct claim_body *body, enum keyspace_blob kind,
                         const struct digest *digest) {
    if (!body->present || body->expired) return;
    SCOPE_BUF struct buf blob = {0};
    struct bytes data = body->data;
    if (body->in_blob) {
        SCOPE_BUF struct buf blob_key = {0};
        keyspace_put_blob(&blob_key, key, kind);
        inspection.bodies++;
        enum err err =
            store_get(inspection.store, KEYSPACE_BLOB, buf_bytes(&blob_key), STORE_MAY_READ, &blob);
        if (err == ERR_NOT_FOUND) {
            fault(key, "its body of kind %d is missing", (int)kind);
            return;
        }
        if (err != ERR_OK) die("body", err);
        data = buf_bytes(&blob);
    }
    if (data.len != body->size_bytes) fault(key, "a body of kind %d has another size", (int)kind);
    struct digest actual = digest_of(data);
    if (digest != NULL && memcmp(&actual, digest, sizeof actual) != 0) {
        fault(key, "its result is not the one that was digested");
    }
}

static void look_at_record(enum keyspace_family family, struct bytes key, struct bytes value) {
    struct claim_record record;
    uint32_t consumer;
    SCOPE_BUF struct buf message_id = {0};
    enum err err = keyspace_parse_claim(key, &consumer, &message_id);
    if (err == ERR_OK) err = record_codec_decode(value, &record);
    if (err != ERR_OK || consumer > LIMIT_CONSUMERS_PER_TENANT_MAX) {
        fault(key, "it cannot be read: %s", error_reason(err));
        return;
    }
    inspection.records++;
    inspection.counted[consumer][record.state - 1]++;
    if (keyspace_family_of(record.state) != family) {
        fault(key, "%s in the wrong family", claim_state_name(record.state));
    }
    if (family == KEYSPACE_OPEN) {
        SCOPE_BUF struct buf other = {0};
        err = store_get(inspection.store, KEYSPACE_DONE, key, STORE_MAY_READ, &other);
        if (err == ERR_OK)
            fault(key, "there are an open and a final record");
        else if (err != ERR_NOT_FOUND)
            die("record", err);
    }
    if (record.has_token && record.token > inspection.token_max) {
        inspection.token_max = record.token;
    }
    look_at_body(key, &record.result, KEYSPACE_BLOB_RESULT, &record.result_digest);
    look_at_body(key, &record.checkpoint, KEYSPACE_BLOB_CHECKPOINT, NULL);
    look_at_body(key, &record.payload, KEYSPACE_BLOB_PAYLOAD, NULL);
}

static void look_at_blob(enum keyspace_family family, struct bytes key, struct bytes value) {
    (void)family;
    (void)key;
    (void)value;
    inspection.blobs++;
}

static void look_at_counts(enum keyspace_family family, struct bytes key, struct bytes value) {
    (void)family;
    uint32_t consumer;
    struct keyspace_counts counts;
    enum err err = keyspace_parse_counts_key(key, &consumer);
    if (err == ERR_OK) err = keyspace_parse_counts(value, &counts);
    if (err != ERR_OK || consumer > LIMIT_CONSUMERS_PER_TENANT_MAX) die("counts", err);
    memcpy(inspection.stored[consumer], counts.by_state, sizeof counts.by_state);
}

static void compare_counts(void) {
    for (uint32_t consumer = 0; consumer <= LIMIT_CONSUMERS_PER_TENANT_MAX; consumer++) {
        for (int state = 0; state < CLAIM_STATES; state++) {
            uint64_t counted = inspection.counted[consumer][state];
            uint64_t stored = inspection.stored[consumer][state];
            if (counted == stored) continue;
            fault((struct bytes){0}, "consumer %u: %s is counted as %" PRIu64 ", and is %" PRIu64,
                  consumer, claim_state_name((enum claim_state)(state + 1)), stored, counted);
        }
    }
}

static void look_at_clock(void) {
    SCOPE_BUF struct buf value = {0};
    struct keyspace_clock clock;
    enum err err =
        store_get(inspection.store, KEYSPACE_META, keyspace_clock_key(), STORE_MAY_READ, &value);
    if (err == ERR_OK) err = keyspace_parse_clock(buf_bytes(&value), &clock);
    if (err != ERR_OK) die("clock", err);
    if (clock.token_next <= inspection.token_max) {
        fault((struct bytes){0}, "the next token would be %" PRIu64 " again", clock.token_next);
    }
    printf("store time %" PRId64 " ms\n", clock.mark.ms);
}

int main(int argc, char **argv) {
    struct error_detail detail = {0};
    struct store_options options = store_options_default();
    if (argc != 2) {
        (void)fprintf(stderr, "usage: crash_inspect DIR\n");
        return 1;
    }
    enum err err = store_open(argv[1], &options, &inspection.store, &detail);
    if (err != ERR_OK) die(detail.text, err);
    for_each(KEYSPACE_OPEN, (struct bytes){0}, look_at_record);
    for_each(KEYSPACE_DONE, (struct bytes){0}, look_at_record);
    for_each(KEYSPACE_BLOB, (struct bytes){0}, look_at_blob);
    for_each(KEYSPACE_META, keyspace_counts_prefix(), look_at_counts);
    compare_counts();
    look_at_clock();
    if (inspection.blobs != inspection.bodies) {
        fault((struct bytes){0}, "%" PRIu64 " bodies are stored, and records have %" PRIu64,
              inspection.blobs, inspection.bodies);
    }
    store_close(inspection.store);
    printf("records %" PRIu64 " bodies %" PRIu64 " faults %" PRIu64 "\n", inspection.records,
           inspection.bodies, inspection.faults);
    return inspection.faults == 0 ? 0 : 1;
}
