// The calls of a client of the load: each does one, and writes its line.
#pragma once

#include "load_client.h"

struct load_begin {
    int64_t lease_ms;
    int64_t wait_ms; // or CLAIMD_UNSET_MS
    char request_id[33];
};

struct load_begun {
    enum claimd_begin_outcome outcome;
    uint64_t token;
};

enum load_verdict load_begin(struct load_client *client, const struct load_key *key,
                             const struct load_begin *begin, struct load_begun *out);

enum load_end { LOAD_COMPLETE, LOAD_REJECT, LOAD_FAIL, LOAD_RELEASE };

// How an attempt is to end; kept for an exact repeat. The body belongs to the client.
struct load_ending {
    enum load_end end;
    struct claimd_bytes result;
    char text[24]; // reason, or message
    enum claimd_failure_kind kind;
    int64_t retry_after_ms;
};

enum load_verdict load_end(struct load_client *client, const struct load_claim *claim,
                           const struct load_ending *ending);

enum load_verdict load_renew(struct load_client *client, const struct load_claim *claim,
                             int64_t lease_ms, struct claimd_bytes checkpoint);

enum load_verdict load_register(struct load_client *client, const struct load_key *key);
enum load_verdict load_cancel(struct load_client *client, const struct load_key *key,
                              const char *reason);
enum load_verdict load_resolve(struct load_client *client, const struct load_key *key,
                               enum claimd_resolution resolution, struct claimd_bytes result,
                               const char *reason);
// *out_final, which may be NULL: whether the record is SUCCEEDED or REJECTED.
enum load_verdict load_get(struct load_client *client, const struct load_key *key, bool *out_final);
