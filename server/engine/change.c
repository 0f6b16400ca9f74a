#include "engine/change.h"

#include "base/limits.h"
#include "base/scope.h"
#include "codec/effect_codec.h"
#include "codec/record_codec.h"

// One body: a new long one is put, an old one that nobody refers to any more is deleted.
static uint32_t body_put(struct buf *frame, struct bytes claim_key, enum keyspace_blob kind,
                         const struct claim_body *old, const struct claim_body *after) {
    bool had_blob = old != NULL && old->present && old->in_blob;
    bool keeps_blob = after != NULL && after->present && after->in_blob;
    bool new_blob = after != NULL && !keeps_blob && record_codec_body_is_external(after);
    if (!new_blob && (!had_blob || keeps_blob)) return 0;

    SCOPE_BUF struct buf key = {0};
    keyspace_put_blob(&key, claim_key, kind);
    if (key.failed) {
        frame->failed = true;
        return 0;
    }
    if (new_blob) {
        effect_put(frame, KEYSPACE_BLOB, buf_bytes(&key), after->data);
    } else {
        effect_delete(frame, KEYSPACE_BLOB, buf_bytes(&key));
    }
    return 1;
}

static uint32_t record_put(struct buf *frame, struct buf *scratch, struct bytes claim_key,
                           const struct claim_record *stored, const struct claim_record *after) {
    uint32_t op_count = 0;
    enum keyspace_family old_family =
        stored == NULL ? KEYSPACE_META : keyspace_family_of(stored->state);
    enum keyspace_family new_family =
        after == NULL ? KEYSPACE_META : keyspace_family_of(after->state);
    if (stored != NULL && old_family != new_family) {
        effect_delete(frame, old_family, claim_key);
        op_count++;
    }
    if (after != NULL) {
        buf_reset(scratch, SIZE_MAX);
        record_codec_encode(after, scratch);
        if (scratch->failed) frame->failed = true;
        effect_put(frame, new_family, claim_key, buf_bytes(scratch));
        op_count++;
    }
    return op_count;
}

uint32_t change_put(struct buf *frame, struct buf *scratch, struct bytes claim_key,
                    const struct claim_record *stored, const struct claim_record *after) {
    uint32_t op_count = record_put(frame, scratch, claim_key, stored, after);
    op_count += body_put(frame, claim_key, KEYSPACE_BLOB_RESULT, stored ? &stored->result : NULL,
                         after ? &after->result : NULL);
    op_count += body_put(frame, claim_key, KEYSPACE_BLOB_CHECKPOINT,
                         stored ? &stored->checkpoint : NULL, after ? &after->checkpoint : NULL);
    op_count += body_put(frame, claim_key, KEYSPACE_BLOB_PAYLOAD, stored ? &stored->payload : NULL,
                         after ? &after->payload : NULL);
    return op_count;
}
