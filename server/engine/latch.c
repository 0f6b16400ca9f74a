#include "engine/latch.h"

#include <stddef.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"

enum err latch_table_init(struct latch_table *table) {
    table->stripes = mem_zalloc(LIMIT_LATCH_STRIPES * sizeof *table->stripes);
    return table->stripes == NULL ? ERR_NO_MEMORY : ERR_OK;
}

void latch_table_deinit(struct latch_table *table) {
    mem_free(table->stripes);
    table->stripes = NULL;
}

struct latch_stripe *latch_stripe_of(const struct latch_table *table, uint64_t hash) {
    return &table->stripes[hash & (LIMIT_LATCH_STRIPES - 1)];
}

enum latch_answer latch_acquire(struct latch_table *table, uint64_t hash, struct latch_node *node) {
    struct latch_stripe *stripe = latch_stripe_of(table, hash);
    if (stripe->count >= LIMIT_LATCH_QUEUE_MAX) return LATCH_FULL;
    node->next = NULL;
    stripe->count++;
    if (stripe->first == NULL) {
        stripe->first = stripe->last = node;
        return LATCH_HELD;
    }
    stripe->last->next = node;
    stripe->last = node;
    return LATCH_QUEUED;
}

struct latch_node *latch_release(struct latch_table *table, uint64_t hash,
                                 struct latch_node *node) {
    struct latch_stripe *stripe = latch_stripe_of(table, hash);
    CHECK(stripe->first == node);
    stripe->count--;
    stripe->first = node->next;
    if (stripe->first == NULL) stripe->last = NULL;
    node->next = NULL;
    return stripe->first;
}
