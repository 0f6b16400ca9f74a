#include "engine/consumers.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/scope.h"
#include "codec/effect_codec.h"
#include "core/identity.h"

#define CONSUMERS_BUCKETS 4096u

enum err consumers_init(struct consumers *consumers) {
    *consumers = (struct consumers){0};
    consumers->buckets = mem_zalloc(CONSUMERS_BUCKETS * sizeof(struct consumer *));
    return consumers->buckets == NULL ? ERR_NO_MEMORY : ERR_OK;
}

void consumers_deinit(struct consumers *consumers) {
    for (uint32_t i = 0; i < consumers->count; i++) {
        buf_deinit(&consumers->by_number[i]->names);
        mem_free(consumers->by_number[i]);
    }
    mem_free(consumers->by_number);
    mem_free(consumers->buckets);
    *consumers = (struct consumers){0};
}

struct bytes consumer_tenant(const struct consumer *consumer) {
    return (struct bytes){consumer->names.data, consumer->tenant_len};
}

struct bytes consumer_name(const struct consumer *consumer) {
    struct bytes names = buf_bytes(&consumer->names);
    return (struct bytes){names.data + consumer->tenant_len, names.len - consumer->tenant_len};
}

static uint64_t name_hash(struct bytes tenant, struct bytes name) {
    return identity_hash(tenant) * 31 + identity_hash(name);
}

static struct consumer **bucket_of(const struct consumers *consumers, uint64_t hash) {
    return &consumers->buckets[hash & (CONSUMERS_BUCKETS - 1)];
}

struct consumer *consumers_find(const struct consumers *consumers, struct bytes tenant,
                                struct bytes name) {
    uint64_t hash = name_hash(tenant, name);
    for (struct consumer *consumer = *bucket_of(consumers, hash); consumer != NULL;
         consumer = consumer->next_same_bucket) {
        if (consumer->hash == hash && bytes_equal(consumer_tenant(consumer), tenant) &&
            bytes_equal(consumer_name(consumer), name)) {
            return consumer;
        }
    }
    return NULL;
}

struct consumer *consumers_at(const struct consumers *consumers, uint32_t number) {
    return number < consumers->count ? consumers->by_number[number] : NULL;
}

static enum err table_grow(struct consumers *consumers) {
    if (consumers->count < consumers->cap) return ERR_OK;
    uint32_t cap = consumers->cap == 0 ? 64 : consumers->cap * 2;
    struct consumer **table = mem_realloc(consumers->by_number, cap * sizeof *table);
    if (table == NULL) return ERR_NO_MEMORY;
    consumers->by_number = table;
    consumers->cap = cap;
    return ERR_OK;
}

static enum err table_append(struct consumers *consumers, struct bytes tenant, struct bytes name,
                             struct consumer **out_consumer) {
    enum err err = table_grow(consumers);
    if (err != ERR_OK) return err;
    struct consumer *consumer = mem_zalloc(sizeof *consumer);
    if (consumer == NULL) return ERR_NO_MEMORY;
    buf_put(&consumer->names, tenant.data, tenant.len);
    buf_put(&consumer->names, name.data, name.len);
    if (consumer->names.failed) {
        buf_deinit(&consumer->names);
        mem_free(consumer);
        return ERR_NO_MEMORY;
    }
    consumer->tenant_len = tenant.len;
    consumer->number = consumers->count;
    consumer->hash = name_hash(tenant, name);
    struct consumer **bucket = bucket_of(consumers, consumer->hash);
    consumer->next_same_bucket = *bucket;
    *bucket = consumer;
    consumers->by_number[consumers->count++] = consumer;
    *out_consumer = consumer;
    return ERR_OK;
}

enum err consumers_load(struct consumers *consumers, uint32_t number,
                        const struct keyspace_consumer *names) {
    struct consumer *consumer;
    if (number != consumers->count) return ERR_CORRUPT;
    return table_append(consumers, names->tenant, names->name, &consumer);
}

static void mark_changed(struct consumers *consumers, struct consumer *consumer) {
    if (consumer->is_new || consumer->is_counted) return;
    consumer->next_changed = consumers->changed;
    consumers->changed = consumer;
}

enum err consumers_add(struct consumers *consumers, struct bytes tenant, struct bytes name,
                       struct consumer **out_consumer) {
    uint32_t same_tenant = 0;
    for (uint32_t i = 0; i < consumers->count; i++) {
        same_tenant += bytes_equal(consumer_tenant(consumers->by_number[i]), tenant);
    }
    if (same_tenant >= LIMIT_CONSUMERS_PER_TENANT_MAX) return ERR_CONSUMER_QUOTA;
    enum err err = table_append(consumers, tenant, name, out_consumer);
    if (err != ERR_OK) return err;
    mark_changed(consumers, *out_consumer);
    (*out_consumer)->is_new = true;
    return ERR_OK;
}

void consumers_count(struct consumers *consumers, struct consumer *consumer, int from_state,
                     int to_state) {
    if (from_state == to_state) return;
    mark_changed(consumers, consumer);
    consumer->is_counted = true;
    if (from_state != 0) {
        CHECK(consumer->counts.by_state[from_state - 1] > 0);
        consumer->counts.by_state[from_state - 1]--;
    }
    if (to_state != 0) consumer->counts.by_state[to_state - 1]++;
}

static void name_put(const struct consumer *consumer, struct buf *frame) {
    SCOPE_BUF struct buf key = {0};
    SCOPE_BUF struct buf value = {0};
    struct keyspace_consumer names = {consumer_tenant(consumer), consumer_name(consumer)};
    keyspace_put_consumer_key(&key, consumer->number);
    keyspace_put_consumer(&value, &names);
    if (key.failed || value.failed) {
        frame->failed = true;
    } else {
        effect_put(frame, KEYSPACE_META, buf_bytes(&key), buf_bytes(&value));
    }
}

static void counts_put(const struct consumer *consumer, struct buf *frame) {
    SCOPE_BUF struct buf key = {0};
    SCOPE_BUF struct buf value = {0};
    keyspace_put_counts_key(&key, consumer->number);
    keyspace_put_counts(&value, &consumer->counts);
    if (key.failed || value.failed) {
        frame->failed = true;
    } else {
        effect_put(frame, KEYSPACE_META, buf_bytes(&key), buf_bytes(&value));
    }
}

uint32_t consumers_put_changes(const struct consumers *consumers, struct buf *frame) {
    uint32_t op_count = 0;
    for (const struct consumer *consumer = consumers->changed; consumer != NULL;
         consumer = consumer->next_changed) {
        if (consumer->is_new) name_put(consumer, frame);
        if (consumer->is_counted) counts_put(consumer, frame);
        op_count += (uint32_t)consumer->is_new + (uint32_t)consumer->is_counted;
    }
    return op_count;
}

void consumers_changes_taken(struct consumers *consumers) {
    for (struct consumer *consumer = consumers->changed; consumer != NULL;
         consumer = consumer->next_changed) {
        consumer->is_new = false;
        consumer->is_counted = false;
    }
    consumers->changed = NULL;
}

void consumers_total(const struct consumers *consumers, uint64_t out_by_state[CLAIM_STATES]) {
    memset(out_by_state, 0, CLAIM_STATES * sizeof out_by_state[0]);
    for (uint32_t i = 0; i < consumers->count; i++) {
        for (int state = 0; state < CLAIM_STATES; state++) {
            out_by_state[state] += consumers->by_number[i]->counts.by_state[state];
        }
    }
}
