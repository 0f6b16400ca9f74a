#include "wire.h"

#include <stdlib.h>
#include <string.h>

#define MS_PER_SECOND 1000
#define NANOS_PER_MS 1000000

static void *terminated_alloc(void *self, size_t size) {
    (void)self;
    char *block = size < SIZE_MAX ? malloc(size + 1) : NULL;
    if (block != NULL) block[size] = '\0';
    return block;
}

static void terminated_free(void *self, void *block) {
    (void)self;
    free(block);
}

ProtobufCAllocator claimd__wire_allocator = {terminated_alloc, terminated_free, NULL};

void claimd__wire_free(ProtobufCMessage *message) {
    if (message != NULL) protobuf_c_message_free_unpacked(message, &claimd__wire_allocator);
}

ProtobufCBinaryData claimd__wire_text(const char *text) {
    return claimd__wire_bytes(claimd_bytes_of(text));
}

ProtobufCBinaryData claimd__wire_bytes(struct claimd_bytes bytes) {
    // Packing does not write to the data; the generated type is shared with unpacking.
    ProtobufCBinaryData data = {bytes.size, (uint8_t *)(uintptr_t)bytes.data};
    return data;
}

Google__Protobuf__Duration *claimd__wire_duration(Google__Protobuf__Duration *storage, int64_t ms) {
    if (ms == CLAIMD_UNSET_MS) return NULL;
    google__protobuf__duration__init(storage);
    storage->seconds = ms / MS_PER_SECOND;
    storage->nanos = (int32_t)(ms % MS_PER_SECOND) * NANOS_PER_MS;
    return storage;
}

Google__Protobuf__Timestamp *claimd__wire_time(Google__Protobuf__Timestamp *storage, int64_t ms) {
    if (ms == CLAIMD_UNSET_MS) return NULL;
    int64_t seconds = ms / MS_PER_SECOND;
    int64_t rest = ms % MS_PER_SECOND;
    if (rest < 0) { // a Timestamp counts its nanoseconds forward, also before 1970
        rest += MS_PER_SECOND;
        seconds--;
    }
    google__protobuf__timestamp__init(storage);
    storage->seconds = seconds;
    storage->nanos = (int32_t)rest * NANOS_PER_MS;
    return storage;
}

const char *claimd__wire_string(ProtobufCBinaryData text) {
    return text.data != NULL ? (const char *)text.data : "";
}

struct claimd_bytes claimd__wire_body(ProtobufCBinaryData bytes) {
    struct claimd_bytes body = {bytes.data != NULL ? (const void *)bytes.data : "", bytes.len};
    return body;
}

// seconds and nanos as milliseconds, saturated; never CLAIMD_UNSET_MS.
static int64_t to_ms(int64_t seconds, int64_t nanos_as_ms) {
    int64_t ms;
    if (__builtin_mul_overflow(seconds, MS_PER_SECOND, &ms) ||
        __builtin_add_overflow(ms, nanos_as_ms, &ms)) {
        return seconds < 0 ? INT64_MIN + 1 : INT64_MAX;
    }
    return ms == INT64_MIN ? INT64_MIN + 1 : ms;
}

int64_t claimd__wire_duration_ms(const Google__Protobuf__Duration *duration) {
    if (duration == NULL) return CLAIMD_UNSET_MS;
    return to_ms(duration->seconds, duration->nanos / NANOS_PER_MS);
}

int64_t claimd__wire_duration_up_ms(const Google__Protobuf__Duration *duration) {
    if (duration == NULL) return CLAIMD_UNSET_MS;
    int64_t ms = duration->nanos / NANOS_PER_MS;
    if (duration->nanos % NANOS_PER_MS > 0) ms++;
    return to_ms(duration->seconds, ms);
}

int64_t claimd__wire_time_ms(const Google__Protobuf__Timestamp *time) {
    if (time == NULL) return CLAIMD_UNSET_MS;
    return to_ms(time->seconds, time->nanos / NANOS_PER_MS);
}

int64_t claimd__wire_lease_deadline_ms(const Claimd__V1__Lease *lease, int64_t sent_ms) {
    int64_t remaining_ms = claimd__wire_lease_remaining_ms(lease);
    int64_t deadline_ms;
    if (remaining_ms == CLAIMD_UNSET_MS) return CLAIMD_UNSET_MS;
    return __builtin_add_overflow(sent_ms, remaining_ms, &deadline_ms) ? INT64_MAX : deadline_ms;
}

int64_t claimd__wire_lease_remaining_ms(const Claimd__V1__Lease *lease) {
    return lease != NULL ? claimd__wire_duration_ms(lease->remaining) : CLAIMD_UNSET_MS;
}

int64_t claimd__wire_lease_expire_time_ms(const Claimd__V1__Lease *lease) {
    return lease != NULL ? claimd__wire_time_ms(lease->expire_time) : CLAIMD_UNSET_MS;
}
