// Every kind of stored claim there is, each made by a history that claim_decide and the model of
// claim_model.h went through together; and the comparison of the two on one more command.
//
// Not thread-safe. All bytes are static.
#pragma once

#include "lib/claim_model.h"

#define CLAIM_CASES_TIMES_MAX 32
#define CLAIM_CASES_LEASE_MS INT64_C(10000)
#define CLAIM_CASES_HOLD_MS INT64_C(25000)
#define CLAIM_CASES_DEAD_MS INT64_C(60000)

// The values that arguments take.
extern const struct bytes claim_cases_owners[3];       // "", one, another
extern const struct bytes claim_cases_requests[3];     // "", one, another
extern const struct bytes claim_cases_fingerprints[3]; // "", one, another
extern const struct claim_body claim_cases_bodies[4];  // absent, empty, short, 300 bytes
extern const struct bytes claim_cases_messages[3];     // "", short, to be cut inside a character
extern const struct bytes claim_cases_reasons[3];      // "", one, another
extern const struct bytes claim_cases_payload_refs[2]; // "", one

struct claim_case {
    char name[160];
    bool stored; // false: there is no record
    bool plain;  // one of few that stand for many: worth multiplying with more
    struct claim_record record;
    struct model_claim model;
    struct store_ms now; // of the last step of its history
    uint64_t token;      // the last one granted; 0 if none ever was
};

typedef void claim_cases_visit(const struct claim_case *claim, void *arg);

// Calls visit for each case.
void claim_cases_each(claim_cases_visit *visit, void *arg);

// The moments at and one millisecond around each deadline of the case that are not before its last
// step, and the last step's; returns how many.
size_t claim_cases_times(const struct claim_case *claim, struct store_ms *out_times);

// Wall time in histories, and an hour less a bit in the commands that follow them.
struct wall_ms claim_cases_wall(struct store_ms now);
struct wall_ms claim_cases_wall_set_back(struct store_ms now);

// Lets both decide, as the record is stored and again as it is after claim_settle; counts one
// combination, and prints where they differ (a few of each kind). Returns true if they agree.
bool claim_cases_compare(const struct claim_case *claim, const struct claim_command *command,
                         const struct claim_context *context);

// How many were compared and how many differed, since the last call; prints both.
struct claim_cases_count {
    uint64_t compared;
    uint64_t differed;
} claim_cases_finish(const char *what);
