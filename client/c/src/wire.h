// Conversion between the public values and the generated messages.
//
// The generated messages have `bytes` where the protos have `string`, so lengths are known. Thread-
// safe, having no state.
#pragma once

#include <claimd.h>
#include <claimd/v1/claims.pb-c.h>
#include <google/protobuf/duration.pb-c.h>
#include <google/protobuf/timestamp.pb-c.h>

// Puts a NUL behind every block that it hands out, so that the bytes of an unpacked text field are
// a C string. Every message of the library is unpacked and freed with it.
extern ProtobufCAllocator claimd__wire_allocator;

// Frees an unpacked message; NULL is fine.
void claimd__wire_free(ProtobufCMessage *message);

// Requests: borrow the caller's memory. NULL text is empty: "not given".
ProtobufCBinaryData claimd__wire_text(const char *text);
ProtobufCBinaryData claimd__wire_bytes(struct claimd_bytes bytes);

// Requests: fill storage in and return it, or NULL for CLAIMD_UNSET_MS.
Google__Protobuf__Duration *claimd__wire_duration(Google__Protobuf__Duration *storage, int64_t ms);
Google__Protobuf__Timestamp *claimd__wire_time(Google__Protobuf__Timestamp *storage, int64_t ms);

// Answers: text is never NULL; it ends at a NUL inside, which no service sends.
const char *claimd__wire_string(ProtobufCBinaryData text);
// Answers: never absent, also if empty.
struct claimd_bytes claimd__wire_body(ProtobufCBinaryData bytes);
// Answers: CLAIMD_UNSET_MS for NULL. Parts of a millisecond are dropped (a lease must not come out
// longer) or rounded up (a wait must not come out shorter). Out-of-range values saturate.
int64_t claimd__wire_duration_ms(const Google__Protobuf__Duration *duration);
int64_t claimd__wire_duration_up_ms(const Google__Protobuf__Duration *duration);
int64_t claimd__wire_time_ms(const Google__Protobuf__Timestamp *time);

// A lease in an answer, or NULL: its end on claimd_clock_ms(), counted from before the request was
// sent; what was left of it; and its end as wall time.
int64_t claimd__wire_lease_deadline_ms(const Claimd__V1__Lease *lease, int64_t sent_ms);
int64_t claimd__wire_lease_remaining_ms(const Claimd__V1__Lease *lease);
int64_t claimd__wire_lease_expire_time_ms(const Claimd__V1__Lease *lease);
