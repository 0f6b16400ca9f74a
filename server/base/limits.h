// Every bound of claimd, with its unit, in one place.
//
// Bounds that clients can meet are normative (docs/SEMANTICS.md); the others are ours to tune.
#pragma once

#include <stdint.h>

// --- what a client may send ---------------------------------------------------------------------
#define LIMIT_CONSUMER_BYTES_MAX 128
#define LIMIT_CONSUMERS_PER_TENANT_MAX 1000
#define LIMIT_TENANT_BYTES_MAX 128
#define LIMIT_MESSAGE_ID_BYTES_MAX 1024
#define LIMIT_OWNER_BYTES_MAX 256
#define LIMIT_REQUEST_ID_BYTES_MAX 64
#define LIMIT_FINGERPRINT_BYTES_MAX 64
#define LIMIT_PAYLOAD_REF_BYTES_MAX 1024
#define LIMIT_REASON_BYTES_MAX 4096
#define LIMIT_ERROR_MESSAGE_BYTES_MAX 4096   // longer texts are cut, not refused
#define LIMIT_RESULT_BYTES_MAX (1024 * 1024) // what a policy may allow
#define LIMIT_RESULT_BYTES_DEFAULT (64 * 1024)
#define LIMIT_CHECKPOINT_BYTES_MAX (16 * 1024)
#define LIMIT_PAYLOAD_BYTES_MAX (256 * 1024)
#define LIMIT_LEASE_MS_MIN INT64_C(100)
#define LIMIT_LEASE_MS_MAX (INT64_C(24) * 3600 * 1000)
#define LIMIT_WAIT_MS_MAX (INT64_C(60) * 1000)
#define LIMIT_RETRY_AFTER_MS_MAX (INT64_C(24) * 3600 * 1000)
#define LIMIT_REQUEST_BYTES_MAX (4 * 1024 * 1024)
#define LIMIT_METADATA_BYTES_MAX 8192

// --- what a record keeps ------------------------------------------------------------------------
#define LIMIT_ATTEMPTS_KEPT 8 // the running or last one included
#define LIMIT_ATTEMPT_ERROR_BYTES_MAX 256
#define LIMIT_BODY_INLINE_BYTES_MAX 256 // longer bodies live in the blob family

// --- tokens -------------------------------------------------------------------------------------
#define LIMIT_TOKEN_MAX INT64_MAX // refused beyond, never wrapped

// --- the engine ---------------------------------------------------------------------------------
#define LIMIT_LATCH_STRIPES (1u << 16)
#define LIMIT_LATCH_QUEUE_MAX 4096 // operations waiting on one stripe
#define LIMIT_WAITERS_PER_KEY_MAX 1024
#define LIMIT_WAITERS_MAX 16384   // each keeps some 20 KB
#define LIMIT_OPS_BEGIN_MAX 16384 // in flight: above this what grants is refused...
#define LIMIT_OPS_MAX 32768       // ...and above this everything is
#define LIMIT_FREE_OPS_MAX 4096   // operations kept for reuse, some 20 KB each
#define LIMIT_GROUP_OPS_MAX 2048  // changes in one group
#define LIMIT_GROUP_BYTES_MAX (8 * 1024 * 1024)
#define LIMIT_GROUP_INLINE_OPS_MAX 4 // written by the thread that made it, if the writer is idle
#define LIMIT_DRAIN_CALLS_MAX 512    // events handled before a group is closed
#define LIMIT_READER_THREADS 2
#define LIMIT_PRUNE_CHUNK_RECORDS 256
#define LIMIT_PRUNES_RUNNING_MAX 4

// --- time ---------------------------------------------------------------------------------------
#define LIMIT_MARK_BUSY_MS INT64_C(900) // while a lease or delay runs: on disk within a second
#define LIMIT_MARK_IDLE_MS (INT64_C(60) * 1000)
#define LIMIT_RETENTION_PAUSE_MS (INT64_C(60) * 1000) // least time between two retention passes
#define LIMIT_HOUSEKEEPING_MS INT64_C(1000) // disk reserve looked at, high-water mark flushed
#define LIMIT_DRAIN_NOTICE_MS INT64_C(300)  // NOT_SERVING, but ends are still taken
#define LIMIT_DRAIN_MS (INT64_C(10) * 1000) // then running calls are cancelled

// --- gRPC ---------------------------------------------------------------------------------------
#define LIMIT_STREAMS_PER_CONNECTION 1024
#define LIMIT_CALLS_POSTED_HOT 64 // per method that consumers call for every message
#define LIMIT_CALLS_POSTED_COLD 8
#define LIMIT_GRPC_MEMORY_BYTES (256 * 1024 * 1024) // gRPC's own quota: the last line of defence
#define LIMIT_WATCHES_MAX 1024
// Bodies of requests and replies that calls hold, all together; what is small is always taken.
#define LIMIT_HELD_BYTES_MAX (256 * 1024 * 1024)
#define LIMIT_HELD_SMALL_BYTES (20 * 1024)
#define LIMIT_LASTING_REQUEST_BYTES_MAX (16 * 1024) // of a call that stays open: Begin(wait), Watch

// --- disk ---------------------------------------------------------------------------------------
#define LIMIT_DISK_SOFT_RESERVE_BYTES (UINT64_C(1) << 30)
#define LIMIT_DISK_HARD_RESERVE_BYTES (UINT64_C(256) << 20)

_Static_assert(LIMIT_LEASE_MS_MIN > 0, "a lease is never empty");
_Static_assert(LIMIT_OPS_BEGIN_MAX < LIMIT_OPS_MAX, "ends of claims outlast beginnings");
_Static_assert(LIMIT_DISK_HARD_RESERVE_BYTES < LIMIT_DISK_SOFT_RESERVE_BYTES,
               "ends of claims outlast beginnings");
_Static_assert(LIMIT_RESULT_BYTES_MAX < LIMIT_REQUEST_BYTES_MAX, "a result fits a request");
_Static_assert((LIMIT_LATCH_STRIPES & (LIMIT_LATCH_STRIPES - 1)) == 0, "a mask selects the stripe");
