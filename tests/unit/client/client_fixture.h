// A client, and a fake server that answers it.
#pragma once

#include <claimd.h>

#include "fake_server.h"

// The one status that a fake service refuses with, and its details as claimd packs them.
#include <google/rpc/status.pb-c.h>

static inline claimd_client *client_fixture_open(const char *target) {
    struct claimd_options options = CLAIMD_OPTIONS_INIT;
    struct claimd_error error;
    claimd_client *client = NULL;
    options.target = target;
    options.timeout_ms = 60000; // a slow machine is no failure
    ck_assert_int_eq(claimd_client_open(&options, &client, &error), CLAIMD_OK);
    return client;
}

// Details of a refusal, with room for what they point to.
struct client_fixture_details {
    Google__Rpc__Status status;
    Google__Protobuf__Any any[3];
    Google__Protobuf__Any *list[3];
    uint8_t packed[3][512];
};

static inline void client_fixture_add(struct client_fixture_details *details, const char *type,
                                      const ProtobufCMessage *message) {
    size_t at = details->status.n_details++;
    ck_assert_uint_lt(protobuf_c_message_get_packed_size(message), sizeof details->packed[at]);
    google__protobuf__any__init(&details->any[at]);
    details->any[at].type_url = (char *)(uintptr_t)type;
    details->any[at].value.data = details->packed[at];
    details->any[at].value.len = protobuf_c_message_pack(message, details->packed[at]);
    details->list[at] = &details->any[at];
    details->status.details = details->list;
}

// ErrorInfo with a reason and, if there is one, the state; then RetryInfo if retry_ms >= 0.
static inline void client_fixture_details(struct client_fixture_details *details,
                                          const char *domain, const char *reason, const char *state,
                                          int64_t retry_ms) {
    memset(details, 0, sizeof *details);
    google__rpc__status__init(&details->status);
    Google__Rpc__ErrorInfo info;
    google__rpc__error_info__init(&info);
    Google__Rpc__ErrorInfo__MetadataEntry entry;
    google__rpc__error_info__metadata_entry__init(&entry);
    Google__Rpc__ErrorInfo__MetadataEntry *entries[] = {&entry};
    info.domain = (char *)(uintptr_t)domain;
    info.reason = (char *)(uintptr_t)reason;
    if (state != NULL) {
        entry.key = (char *)(uintptr_t) "state";
        entry.value = (char *)(uintptr_t)state;
        info.metadata = entries;
        info.n_metadata = 1;
    }
    client_fixture_add(details, "type.googleapis.com/google.rpc.ErrorInfo", &info.base);
    if (retry_ms < 0) return;
    Google__Rpc__RetryInfo retry = GOOGLE__RPC__RETRY_INFO__INIT;
    Google__Protobuf__Duration delay = GOOGLE__PROTOBUF__DURATION__INIT;
    delay.seconds = retry_ms / 1000;
    delay.nanos = (int32_t)(retry_ms % 1000) * 1000000;
    retry.retry_delay = &delay;
    client_fixture_add(details, "type.googleapis.com/google.rpc.RetryInfo", &retry.base);
}
