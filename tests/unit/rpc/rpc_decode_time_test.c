// Durations and timestamps of requests: every bound to the nanosecond, and no overflow anywhere.
#include "unit/rpc/rpc_testing.h"

#define DAY_S 86400
#define SECONDS_MAX INT64_C(315576000000)

// Decodes a Begin with this lease; its milliseconds, or -1 if it was refused for its lease.
static int64_t lease_ms(int64_t seconds, int32_t nanos) {
    TESTING_REQUEST(BeginRequest, begin_request, begin);
    Google__Protobuf__Duration lease = testing_duration(seconds, nanos);
    struct engine_op op = {0};
    struct rpc_fault fault;
    begin.lease = &lease;
    enum err err = rpc_decode_begin(testing_pack(&begin), &testing_arena, &op, &fault);
    if (err != ERR_OK) {
        testing_assert_fault(err, &fault, "lease", "100 ms to 24 h");
        return -1;
    }
    ck_assert(op.command.lease.present);
    return op.command.lease.ms;
}

START_TEST(lease_holds_its_bounds_to_the_nanosecond) {
    ck_assert_int_eq(lease_ms(0, 100000000), 100);
    ck_assert_int_eq(lease_ms(0, 99999999), -1);
    ck_assert_int_eq(lease_ms(DAY_S, 0), INT64_C(1000) * DAY_S);
    ck_assert_int_eq(lease_ms(DAY_S, 1), -1);
    ck_assert_int_eq(lease_ms(DAY_S - 1, 999999999), INT64_C(1000) * DAY_S);
}
END_TEST

START_TEST(lease_of_zero_or_less_is_not_an_absent_one) {
    ck_assert_int_eq(lease_ms(0, 0), -1);
    ck_assert_int_eq(lease_ms(0, -1), -1);
    ck_assert_int_eq(lease_ms(-1, 0), -1);
    ck_assert_int_eq(lease_ms(-30, -5), -1);
}
END_TEST

START_TEST(a_fraction_of_a_millisecond_is_rounded_up) {
    ck_assert_int_eq(lease_ms(1, 0), 1000);
    ck_assert_int_eq(lease_ms(1, 1), 1001);
    ck_assert_int_eq(lease_ms(1, 999999), 1001);
    ck_assert_int_eq(lease_ms(1, 1000000), 1001);
    ck_assert_int_eq(lease_ms(1, 1000001), 1002);
}
END_TEST

START_TEST(invalid_durations_are_refused_whatever_their_size) {
    ck_assert_int_eq(lease_ms(1, -1), -1); // signs differ
    ck_assert_int_eq(lease_ms(-1, 1), -1);
    ck_assert_int_eq(lease_ms(1, 1000000000), -1);
    ck_assert_int_eq(lease_ms(1, INT32_MAX), -1);
    ck_assert_int_eq(lease_ms(0, INT32_MIN), -1);
    ck_assert_int_eq(lease_ms(SECONDS_MAX, 0), -1);
    ck_assert_int_eq(lease_ms(SECONDS_MAX + 1, 0), -1);
    ck_assert_int_eq(lease_ms(-SECONDS_MAX - 1, 0), -1);
    ck_assert_int_eq(lease_ms(INT64_MAX, 999999999), -1);
    ck_assert_int_eq(lease_ms(INT64_MIN, -999999999), -1);
    // Times 1000 these would wrap around to one second.
    ck_assert_int_eq(lease_ms(INT64_MAX / 1000 + 2, 0), -1);
    ck_assert_int_eq(lease_ms((int64_t)((UINT64_MAX / 1000) + 2), 0), -1);
}
END_TEST

static void begin_with_wait(int64_t seconds, int32_t nanos, struct engine_op *op, bool accepted) {
    TESTING_REQUEST(BeginRequest, begin_request, begin);
    Google__Protobuf__Duration wait = testing_duration(seconds, nanos);
    begin.wait = &wait;
    if (accepted) {
        testing_accept(rpc_decode_begin, &begin, op);
    } else {
        testing_refuse(rpc_decode_begin, &begin, "wait", "0 to 60 s");
    }
}

START_TEST(wait_is_bounded) {
    struct engine_op op = {0};
    begin_with_wait(60, 0, &op, true);
    ck_assert(op.wait.present);
    ck_assert_int_eq(op.wait.ms, 60000);
    begin_with_wait(0, 1, &op, true);
    ck_assert(op.wait.present);
    ck_assert_int_eq(op.wait.ms, 1);
    begin_with_wait(0, 0, &op, true); // not to wait
    ck_assert(!op.wait.present);
    begin_with_wait(60, 1, &op, false);
    begin_with_wait(0, -1, &op, false);
}
END_TEST

START_TEST(retry_after_is_bounded) {
    TESTING_TOKEN_REQUEST(FailRequest, fail_request, fail);
    struct engine_op op = {0};
    Google__Protobuf__Duration delay = testing_duration(0, 0);
    fail.kind = CLAIMD__V1__FAILURE_KIND__FAILURE_KIND_TRANSIENT;
    testing_accept(rpc_decode_fail, &fail, &op);
    ck_assert(!op.command.retry_after.present);
    fail.retry_after = &delay; // an explicit 0 replaces the policy's delay
    testing_accept(rpc_decode_fail, &fail, &op);
    ck_assert(op.command.retry_after.present);
    ck_assert_int_eq(op.command.retry_after.ms, 0);
    delay = testing_duration(DAY_S, 0);
    testing_accept(rpc_decode_fail, &fail, &op);
    ck_assert_int_eq(op.command.retry_after.ms, LIMIT_RETRY_AFTER_MS_MAX);
    delay = testing_duration(DAY_S, 1);
    testing_refuse(rpc_decode_fail, &fail, "retry_after", "0 to 24 h");
    delay = testing_duration(0, -1);
    testing_refuse(rpc_decode_fail, &fail, "retry_after", "0 to 24 h");
}
END_TEST

START_TEST(lease_of_renew_is_bounded) {
    TESTING_TOKEN_REQUEST(RenewRequest, renew_request, renew);
    struct engine_op op = {0};
    Google__Protobuf__Duration lease = testing_duration(0, 100000000);
    testing_accept(rpc_decode_renew, &renew, &op);
    ck_assert(!op.command.lease.present);
    renew.lease = &lease;
    testing_accept(rpc_decode_renew, &renew, &op);
    ck_assert(op.command.lease.present);
    ck_assert_int_eq(op.command.lease.ms, 100);
    lease = testing_duration(0, 99999999);
    testing_refuse(rpc_decode_renew, &renew, "lease", "100 ms to 24 h");
    lease = testing_duration(0, 0);
    testing_refuse(rpc_decode_renew, &renew, "lease", "100 ms to 24 h");
    lease = testing_duration(DAY_S, 1);
    testing_refuse(rpc_decode_renew, &renew, "lease", "100 ms to 24 h");
}
END_TEST

// --- timestamps ----------------------------------------------------------------------------------

#define TIMESTAMP_MIN INT64_C(-62135596800)
#define TIMESTAMP_MAX INT64_C(253402300799)

static int64_t event_ms(int64_t seconds, int32_t nanos) {
    TESTING_REQUEST(RegisterRequest, register_request, reg);
    Google__Protobuf__Timestamp event = testing_timestamp(seconds, nanos);
    struct engine_op op = {0};
    reg.event_time = &event;
    testing_accept(rpc_decode_register, &reg, &op);
    ck_assert(op.command.event_time.present);
    return op.command.event_time.at.ms;
}

static void event_is_refused(int64_t seconds, int32_t nanos) {
    TESTING_REQUEST(RegisterRequest, register_request, reg);
    Google__Protobuf__Timestamp event = testing_timestamp(seconds, nanos);
    reg.event_time = &event;
    testing_refuse(rpc_decode_register, &reg, "event_time", "years 1 to 9999");
}

START_TEST(timestamps_are_rounded_up_on_both_sides_of_1970) {
    ck_assert_int_eq(event_ms(0, 0), 0);
    ck_assert_int_eq(event_ms(1, 1), 1001);
    ck_assert_int_eq(event_ms(-1, 0), -1000);
    ck_assert_int_eq(event_ms(-1, 1), -999);
    ck_assert_int_eq(event_ms(-1, 999999999), 0);
    ck_assert_int_eq(event_ms(TIMESTAMP_MIN, 0), TIMESTAMP_MIN * 1000);
    ck_assert_int_eq(event_ms(TIMESTAMP_MAX, 999000000), TIMESTAMP_MAX * 1000 + 999);
}
END_TEST

START_TEST(invalid_timestamps_are_refused) {
    event_is_refused(TIMESTAMP_MIN - 1, 0);
    event_is_refused(TIMESTAMP_MAX + 1, 0);
    event_is_refused(0, -1);
    event_is_refused(0, 1000000000);
    event_is_refused(INT64_MAX, 0);
    event_is_refused(INT64_MIN, 0);
    event_is_refused(INT64_MAX / 1000 + 1, 0);
}
END_TEST

TESTING_MAIN("rpc_decode_time", lease_holds_its_bounds_to_the_nanosecond,
             lease_of_zero_or_less_is_not_an_absent_one, a_fraction_of_a_millisecond_is_rounded_up,
             invalid_durations_are_refused_whatever_their_size, wait_is_bounded,
             retry_after_is_bounded, lease_of_renew_is_bounded,
             timestamps_are_rounded_up_on_both_sides_of_1970, invalid_timestamps_are_refused)
