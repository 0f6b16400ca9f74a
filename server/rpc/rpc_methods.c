// The table of methods.
#include "base/limits.h"
#include "rpc/rpc_private.h"

#define CLAIM_METHOD(name, stem, verb_, posted_)                                                   \
    {                                                                                              \
        .path = "/claimd.v1.ClaimService/" name, .posted = (posted_), .handle = rpc_unary_handle,  \
        .decode = rpc_decode_##stem, .encode = rpc_encode_##stem, .verb = (verb_)                  \
    }

const struct rpc_method rpc_methods[] = {
    CLAIM_METHOD("Begin", begin, CLAIM_BEGIN, LIMIT_CALLS_POSTED_HOT),
    CLAIM_METHOD("Complete", complete, CLAIM_COMPLETE, LIMIT_CALLS_POSTED_HOT),
    CLAIM_METHOD("Reject", reject, CLAIM_REJECT, LIMIT_CALLS_POSTED_COLD),
    CLAIM_METHOD("Fail", fail, CLAIM_FAIL, LIMIT_CALLS_POSTED_COLD),
    CLAIM_METHOD("Renew", renew, CLAIM_RENEW, LIMIT_CALLS_POSTED_HOT),
    CLAIM_METHOD("Release", release, CLAIM_RELEASE, LIMIT_CALLS_POSTED_COLD),
    CLAIM_METHOD("Register", register, CLAIM_REGISTER, LIMIT_CALLS_POSTED_COLD),
    CLAIM_METHOD("Cancel", cancel, CLAIM_CANCEL, LIMIT_CALLS_POSTED_COLD),
    CLAIM_METHOD("Resolve", resolve, CLAIM_RESOLVE, LIMIT_CALLS_POSTED_COLD),
    {.path = "/claimd.v1.OperationService/GetClaim",
     .posted = LIMIT_CALLS_POSTED_COLD,
     .handle = rpc_unary_handle,
     .decode = rpc_decode_get_claim,
     .encode = rpc_encode_get_claim,
     .verb = CLAIM_GET},
    {.path = "/claimd.v1.OperationService/GetStatus",
     .posted = LIMIT_CALLS_POSTED_COLD,
     .handle = rpc_status_handle},
    {.path = "/claimd.v1.OperationService/Prune",
     .posted = LIMIT_CALLS_POSTED_COLD,
     .handle = rpc_prune_handle},
    {.path = "/grpc.health.v1.Health/Check",
     .posted = LIMIT_CALLS_POSTED_COLD,
     .handle = health_check_handle},
    {.path = "/grpc.health.v1.Health/Watch",
     .posted = LIMIT_CALLS_POSTED_COLD,
     .handle = health_watch_handle},
#ifdef CLAIMD_BENCH
    // What any call of this server costs: the floor that Begin is measured against.
    {.path = "/claimd.bench.v1.BenchService/Noop",
     .posted = LIMIT_CALLS_POSTED_HOT,
     .handle = rpc_noop_handle},
#endif
    {.path = NULL, .posted = LIMIT_CALLS_POSTED_COLD, .handle = rpc_unknown_handle},
    {.handle = NULL},
};
