#include "engine/apply.h"

#include "codec/effect_codec.h"

#define APPLY_HEAD_BYTES 64 // more than a head row takes

enum err apply_init(struct apply *apply, struct store *store) {
    *apply = (struct apply){.store = store};
    apply->batch = store_batch_create();
    if (apply->batch == NULL) return ERR_NO_MEMORY;
    // Now, because a group that cannot be applied ends the process.
    return buf_reserve(&apply->head, APPLY_HEAD_BYTES) ? ERR_OK : ERR_NO_MEMORY;
}

void apply_deinit(struct apply *apply) {
    store_batch_destroy(apply->batch);
    buf_deinit(&apply->head);
    *apply = (struct apply){0};
}

enum err apply_group(struct apply *apply, uint64_t position, struct bytes frame) {
    struct effect_reader reader;
    struct effect_op op;
    if (position <= store_position(apply->store)) return ERR_OK;
    enum err err = effect_open(frame, &reader);
    if (err != ERR_OK) return err;
    store_batch_clear(apply->batch);
    while (effect_next(&reader, &op)) {
        if (op.is_put) {
            store_batch_put(apply->batch, apply->store, op.family, op.key, op.value);
        } else {
            store_batch_delete(apply->batch, apply->store, op.family, op.key);
        }
    }
    struct keyspace_head head = {.position = position, .term = apply->term};
    buf_reset(&apply->head, SIZE_MAX);
    keyspace_put_head(&apply->head, &head);
    if (apply->head.failed) return ERR_NO_MEMORY;
    store_batch_put(apply->batch, apply->store, KEYSPACE_META, keyspace_head_key(),
                    buf_bytes(&apply->head));
    return store_write(apply->store, apply->batch, position);
}
