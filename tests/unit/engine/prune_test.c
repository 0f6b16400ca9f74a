// Prune: exactly what it says, no more; beside commands; at the pace of who listens.
#include "engine/prune.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "engine/engine_private.h"
#include "lib/engine_calls.h"

#define DAY_MS INT64_C(86400000)

static struct engine_fixture fixture;

static void setup(void) { fixture_init(&fixture); }

static void teardown(void) { fixture_deinit(&fixture); }

// A prune and what it has said.
struct listener {
    struct prune_request request;
    struct prune_progress last;
    unsigned reports;
    bool holds; // does not continue by itself
};

static void heard(struct prune_request *request, const struct prune_progress *progress) {
    struct listener *listener = (struct listener *)(void *)request; // its first member
    ck_assert_msg(!listener->last.done, "reported after the last report");
    ck_assert_uint_ge(progress->scanned_count, listener->last.scanned_count);
    ck_assert_uint_ge(progress->removed_count, listener->last.removed_count);
    listener->last = *progress;
    listener->reports++;
    if (!progress->done && !listener->holds) prune_continue(request);
}

static bool is_done(void *arg) {
    const struct listener *listener = arg;
    return listener->last.done;
}

static bool has_reported(void *arg) {
    const struct listener *listener = arg;
    return listener->reports > 0;
}

static enum err start(struct listener *listener) {
    listener->request.progress = heard;
    return prune_start(fixture.engine, &listener->request);
}

static struct prune_progress prune(struct prune_request request) {
    struct listener listener = {.request = request};
    ck_assert_int_eq(start(&listener), ERR_OK);
    fixture_turn_until(&fixture, is_done, &listener);
    return listener.last;
}

static struct wall_ms wall_now(void) {
    return (struct wall_ms){fake_clock_wall_ms(&fixture.clock)};
}

static void succeed_many(const char *prefix, unsigned count, const char *result) {
    fixture_succeed_many(&fixture, prefix, count, result);
}

// --- what goes ----------------------------------------------------------------------------------

START_TEST(removes_what_is_final_and_older) {
    succeed_many("old", 10, "x");
    uint64_t token = fixture_claim(&fixture, "rejected", 1000);
    fixture_reject(&fixture, "rejected", token, "no");
    fixture_claim(&fixture, "lapsed", 1000);
    token = fixture_claim(&fixture, "retrying", 1000);
    fixture_fail_after(&fixture, "retrying", token, 0);
    token = fixture_claim(&fixture, "dead", 1000);
    fixture_fail(&fixture, "dead", token, FAIL_POISON);
    token = fixture_claim(&fixture, "unknown", 1000);
    fixture_fail(&fixture, "unknown", token, FAIL_OUTCOME_UNKNOWN);
    fixture_advance(&fixture, 5000);
    struct wall_ms before = wall_now();
    succeed_many("new", 3, "x"); // at `before` exactly: not older

    struct prune_progress progress = prune((struct prune_request){.before = before, .force = true});
    ck_assert_int_eq(progress.err, ERR_OK);
    ck_assert_uint_eq(progress.removed_count, 11);
    ck_assert_uint_eq(progress.scanned_count, 14);
    uint64_t scanned[CLAIM_STATES];
    fixture_scan_counts(&fixture, scanned);
    ck_assert_uint_eq(scanned[CLAIM_SUCCEEDED - 1], 3);
    ck_assert_uint_eq(scanned[CLAIM_REJECTED - 1], 0);
    ck_assert_uint_eq(scanned[CLAIM_PROCESSING - 1], 1);
    ck_assert_uint_eq(scanned[CLAIM_RETRYING - 1], 1);
    ck_assert_uint_eq(scanned[CLAIM_DEAD_LETTERED - 1], 1);
    ck_assert_uint_eq(scanned[CLAIM_UNKNOWN - 1], 1);
    fixture_expect_counts_true(&fixture);
    progress = prune((struct prune_request){.before = before, .force = true});
    ck_assert_uint_eq(progress.removed_count, 0); // the same again is safe
}
END_TEST

START_TEST(bodies_go_with_their_records) {
    static char result[5000];
    memset(result, 'r', sizeof result - 1);
    succeed_many("k", 5, result);
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_BLOB), 5);
    fixture_advance(&fixture, 1);
    struct prune_progress progress =
        prune((struct prune_request){.before = wall_now(), .force = true});
    ck_assert_uint_eq(progress.removed_count, 5);
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_BLOB), 0);
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_DONE), 0);
}
END_TEST

static bool no_prune_runs(void *arg) {
    (void)arg;
    return fixture.engine->prune_count == 0;
}

static uint64_t table_bytes(void) {
    uint64_t sum = 0;
    const char *path = temp_dir_join(fixture.dir, "db");
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct stat info;
        if (strstr(entry->d_name, ".sst") == NULL) continue;
        if (fstatat(dirfd(dir), entry->d_name, &info, 0) == 0) sum += (uint64_t)info.st_size;
    }
    closedir(dir);
    return sum;
}

START_TEST(space_comes_back_where_room_is_short) {
    static char result[5000];
    struct rand rand = rand_from_seed(1);
    for (size_t i = 0; i < sizeof result - 1; i++) result[i] = (char)('!' + rand_u64(&rand) % 90);
    succeed_many("k", 300, result);
    fixture_flush(&fixture);
    uint64_t before = table_bytes();
    fixture_close(&fixture);
    fixture.options.disk_soft_reserve_bytes = UINT64_MAX;
    fixture_open(&fixture);
    fixture_advance(&fixture, 1);
    prune((struct prune_request){.before = wall_now(), .force = true});
    fixture_turn_until(&fixture, no_prune_runs, NULL);
    ck_assert_uint_lt(table_bytes(), before / 4);
}
END_TEST

START_TEST(dry_run_counts_and_changes_nothing) {
    succeed_many("k", 700, "x"); // more than two chunks
    fixture_advance(&fixture, 1);
    uint64_t position = fixture_stats(&fixture).position;
    struct prune_request request = {.before = wall_now(), .force = true, .dry_run = true};
    struct prune_progress progress = prune(request);
    ck_assert_int_eq(progress.err, ERR_OK);
    ck_assert_uint_eq(progress.removed_count, 700);
    ck_assert_uint_eq(progress.scanned_count, 700);
    ck_assert_uint_eq(fixture_stats(&fixture).position, position);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 700);
    request.dry_run = false;
    progress = prune(request);
    ck_assert_uint_eq(progress.removed_count, 700);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 0);
}
END_TEST

START_TEST(only_the_tenants_and_consumers_that_were_named) {
    static const struct {
        const char *tenant;
        const char *consumer;
    } all[] = {{"", "a"}, {"", "aa"}, {"", "a_b"}, {"t", "a"}, {"", "b"}};
    for (size_t i = 0; i < 5; i++) {
        struct fixture_request request = {.tenant = all[i].tenant,
                                          .consumer = all[i].consumer,
                                          .id = "k",
                                          .command = {.verb = CLAIM_CANCEL}};
        struct fixture_answer answer = fixture_do(&fixture, &request);
        FIXTURE_EXPECT_ERR(answer, ERR_OK);
    }
    fixture_advance(&fixture, 1);
    struct prune_request request = {.consumer = bytes_of("a"), .before = wall_now(), .force = true};
    ck_assert_uint_eq(prune(request).removed_count, 1);
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_DONE), 4);
    request.consumer = bytes_of("nobody");
    struct listener listener = {.request = request};
    ck_assert_int_eq(start(&listener), ERR_NOT_FOUND);
    request.tenant = bytes_of("u"); // has no consumers: nothing to do
    request.consumer = bytes_of("");
    ck_assert_uint_eq(prune(request).removed_count, 0);
    request.tenant = bytes_of("");
    ck_assert_uint_eq(prune(request).removed_count, 3); // all of the tenant's
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_DONE), 1);
    request.tenant = bytes_of("t");
    ck_assert_uint_eq(prune(request).removed_count, 1);
}
END_TEST

// --- the window ---------------------------------------------------------------------------------

START_TEST(the_redelivery_window_is_kept) {
    int64_t window_ms = fixture.policy.redelivery_window_ms;
    fixture_succeed(&fixture, "k", "x");
    fixture_advance(&fixture, window_ms + 1);
    struct listener listener = {.request = {.before = {wall_now().ms - window_ms + 1}}};
    ck_assert_int_eq(start(&listener), ERR_WINDOW_VIOLATION);
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_DONE), 1);
    ck_assert_uint_eq(
        prune((struct prune_request){.before = {wall_now().ms - window_ms}}).removed_count, 1);
}
END_TEST

// The wall clock jumped: by the wall the record is old, but the broker may still redeliver.
START_TEST(a_jump_of_the_wall_clock_opens_no_window) {
    fixture_succeed(&fixture, "k", "x");
    fake_clock_shift_wall(&fixture.clock, 30 * DAY_MS);
    fixture_settle(&fixture);
    struct prune_request request = {
        .before = {wall_now().ms - fixture.policy.redelivery_window_ms}};
    struct prune_progress progress = prune(request);
    ck_assert_uint_eq(progress.scanned_count, 1);
    ck_assert_uint_eq(progress.removed_count, 0);
    fixture_advance(&fixture, fixture.policy.redelivery_window_ms - 1);
    ck_assert_uint_eq(prune(request).removed_count, 0);
    fixture_advance(&fixture, 1);
    ck_assert_uint_eq(prune(request).removed_count, 1);
}
END_TEST

START_TEST(force_does_not_ask_for_the_window) {
    fixture_succeed(&fixture, "k", "x");
    fixture_advance(&fixture, 1);
    struct prune_request request = {.before = wall_now(), .force = true};
    ck_assert_uint_eq(prune(request).removed_count, 1);
}
END_TEST

// --- pace ---------------------------------------------------------------------------------------

START_TEST(goes_on_only_when_told) {
    succeed_many("k", 3 * LIMIT_PRUNE_CHUNK_RECORDS, "x");
    fixture_advance(&fixture, 1);
    struct listener listener = {.request = {.before = wall_now(), .force = true}, .holds = true};
    ck_assert_int_eq(start(&listener), ERR_OK);
    fixture_turn_until(&fixture, has_reported, &listener);
    for (int i = 0; i < 50; i++) fixture_turn(&fixture);
    ck_assert_uint_eq(listener.reports, 1);
    ck_assert_uint_eq(listener.last.removed_count, LIMIT_PRUNE_CHUNK_RECORDS);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 2 * LIMIT_PRUNE_CHUNK_RECORDS);
    // Commands go on meanwhile.
    struct fixture_answer answer = fixture_begin_for(&fixture, "other", 1000);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
    listener.holds = false;
    prune_continue(&listener.request);
    fixture_turn_until(&fixture, is_done, &listener);
    ck_assert_int_eq(listener.last.err, ERR_OK);
    ck_assert_uint_eq(listener.last.removed_count, 3 * LIMIT_PRUNE_CHUNK_RECORDS);
}
END_TEST

// The client goes away while the prune waits for it.
START_TEST(cancelled_between_chunks) {
    succeed_many("k", 3 * LIMIT_PRUNE_CHUNK_RECORDS, "x");
    fixture_advance(&fixture, 1);
    struct listener listener = {.request = {.before = wall_now(), .force = true}, .holds = true};
    ck_assert_int_eq(start(&listener), ERR_OK);
    fixture_turn_until(&fixture, has_reported, &listener);
    prune_cancel(&listener.request);
    fixture_turn_until(&fixture, is_done, &listener);
    ck_assert_int_eq(listener.last.err, ERR_CANCELLED);
    ck_assert_uint_eq(listener.last.removed_count, LIMIT_PRUNE_CHUNK_RECORDS);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 2 * LIMIT_PRUNE_CHUNK_RECORDS);
}
END_TEST

// A chunk is under way: one of its keys is held by a call that waits for the readers.
static void hold_chunk(struct listener *listener, struct fixture_call *call) {
    succeed_many("k", 3 * LIMIT_PRUNE_CHUNK_RECORDS, "x");
    fixture_advance(&fixture, 1);
    fixture_flush(&fixture);
    *listener = (struct listener){.request = {.before = wall_now(), .force = true}, .holds = true};
    fixture_settle(&fixture);
    ck_assert_int_eq(start(listener), ERR_OK);
    fixture_wait_for_job(&fixture);
    fixture_start(&fixture, call,
                  &(struct fixture_request){.id = "k1", .command = {.verb = CLAIM_BEGIN}});
    fixture_turn(&fixture);
    ck_assert(!call->done);
    ck_assert_uint_eq(listener->reports, 0);
    ck_assert_uint_ge(fixture.engine->op_count, 2);
}

// The client goes away while a chunk is under way, and tells the engine nothing more.
START_TEST(cancelled_within_a_chunk) {
    static struct listener listener;
    static struct fixture_call call;
    hold_chunk(&listener, &call);
    prune_cancel(&listener.request);
    fixture_turn_until(&fixture, is_done, &listener);
    ck_assert_int_eq(listener.last.err, ERR_CANCELLED);
    ck_assert_uint_eq(listener.last.removed_count, LIMIT_PRUNE_CHUNK_RECORDS);
    fixture_expect_outcome(fixture_finish(&call), CLAIM_DUPLICATE);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 2 * LIMIT_PRUNE_CHUNK_RECORDS);
}
END_TEST

START_TEST(drained_within_a_chunk) {
    static struct listener listener;
    static struct fixture_call call;
    hold_chunk(&listener, &call);
    engine_drain(fixture.engine);
    fixture_turn_until(&fixture, is_done, &listener);
    ck_assert_int_eq(listener.last.err, ERR_CANCELLED);
    ck_assert_uint_eq(listener.last.removed_count, LIMIT_PRUNE_CHUNK_RECORDS);
}
END_TEST

START_TEST(draining_ends_it) {
    succeed_many("k", 3 * LIMIT_PRUNE_CHUNK_RECORDS, "x");
    fixture_advance(&fixture, 1);
    struct listener listener = {.request = {.before = wall_now(), .force = true}, .holds = true};
    ck_assert_int_eq(start(&listener), ERR_OK);
    fixture_turn_until(&fixture, has_reported, &listener);
    engine_drain(fixture.engine);
    fixture_turn_until(&fixture, is_done, &listener);
    ck_assert_int_eq(listener.last.err, ERR_CANCELLED);
}
END_TEST

START_TEST(so_many_at_a_time) {
    static struct listener listeners[LIMIT_PRUNES_RUNNING_MAX + 1];
    succeed_many("k", LIMIT_PRUNE_CHUNK_RECORDS + 1, "x");
    fixture_advance(&fixture, 1);
    for (size_t i = 0; i <= LIMIT_PRUNES_RUNNING_MAX; i++) {
        listeners[i].request =
            (struct prune_request){.before = wall_now(), .force = true, .dry_run = true};
        bool fits = i < LIMIT_PRUNES_RUNNING_MAX;
        ck_assert_int_eq(start(&listeners[i]), fits ? ERR_OK : ERR_QUEUE_FULL);
    }
    for (size_t i = 0; i < LIMIT_PRUNES_RUNNING_MAX; i++) {
        fixture_turn_until(&fixture, is_done, &listeners[i]);
        ck_assert_uint_eq(listeners[i].last.removed_count, LIMIT_PRUNE_CHUNK_RECORDS + 1);
    }
}
END_TEST

START_TEST(two_at_a_time_remove_each_record_once) {
    static struct listener listeners[2];
    succeed_many("k", 5 * LIMIT_PRUNE_CHUNK_RECORDS, "x");
    fixture_advance(&fixture, 1);
    for (int i = 0; i < 2; i++) {
        listeners[i].request = (struct prune_request){.before = wall_now(), .force = true};
        ck_assert_int_eq(start(&listeners[i]), ERR_OK);
    }
    for (int i = 0; i < 2; i++) {
        fixture_turn_until(&fixture, is_done, &listeners[i]);
        ck_assert_int_eq(listeners[i].last.err, ERR_OK);
    }
    ck_assert_uint_eq(listeners[0].last.removed_count + listeners[1].last.removed_count,
                      5 * LIMIT_PRUNE_CHUNK_RECORDS);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 0);
}
END_TEST

// --- beside commands ----------------------------------------------------------------------------

// The scan has seen all keys; before its second chunk is judged, a key of it is pruned by somebody
// else, begun and completed anew. What the scan saw is gone: the new record must stay.
START_TEST(a_key_begun_anew_meanwhile_survives) {
    enum { RECORDS = 2 * LIMIT_PRUNE_CHUNK_RECORDS };
    succeed_many("k", RECORDS, "old");
    fixture_advance(&fixture, 1);
    struct wall_ms before = wall_now();
    struct listener listener = {.request = {.before = before, .force = true}, .holds = true};
    ck_assert_int_eq(start(&listener), ERR_OK);
    fixture_turn_until(&fixture, has_reported, &listener);

    fixture_advance(&fixture, 1000);
    ck_assert_uint_eq(prune((struct prune_request){.before = before, .force = true}).removed_count,
                      RECORDS - LIMIT_PRUNE_CHUNK_RECORDS);
    succeed_many("k", RECORDS, "new");
    prune_continue(&listener.request);
    listener.holds = false;
    fixture_turn_until(&fixture, is_done, &listener);
    ck_assert_int_eq(listener.last.err, ERR_OK);
    ck_assert_uint_eq(listener.last.removed_count, LIMIT_PRUNE_CHUNK_RECORDS);
    for (unsigned i = 0; i < RECORDS; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "k%u", i);
        struct fixture_answer answer = fixture_begin_for(&fixture, id, 1000);
        fixture_expect_result(&answer, bytes_of("new"));
    }
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), RECORDS);
}
END_TEST

// The same with a key that is held when its turn comes.
START_TEST(a_key_claimed_anew_meanwhile_stays_held) {
    succeed_many("k", 2 * LIMIT_PRUNE_CHUNK_RECORDS, "old");
    fixture_advance(&fixture, 1);
    struct wall_ms before = wall_now();
    struct listener listener = {.request = {.before = before, .force = true}, .holds = true};
    ck_assert_int_eq(start(&listener), ERR_OK);
    fixture_turn_until(&fixture, has_reported, &listener);
    prune((struct prune_request){.before = before, .force = true});
    uint64_t token = fixture_claim(&fixture, "k499", 60000);
    listener.holds = false;
    prune_continue(&listener.request);
    fixture_turn_until(&fixture, is_done, &listener);
    struct fixture_answer answer = fixture_complete(&fixture, "k499", token, "x");
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 1);
}
END_TEST

START_TEST(waiters_on_what_is_pruned_do_not_exist) {
    fixture_succeed(&fixture, "k", "x");
    fixture_advance(&fixture, 1);
    struct fixture_call call;
    fixture_start(
        &fixture, &call,
        &(struct fixture_request){.id = "k", .command = {.verb = CLAIM_BEGIN}, .wait_ms = 60000});
    fixture_settle(&fixture);
    fixture_expect_outcome(&call.answer, CLAIM_DUPLICATE); // no reason to wait
    ck_assert_uint_eq(
        prune((struct prune_request){.before = wall_now(), .force = true}).removed_count, 1);
}
END_TEST

START_TEST(damage_is_named_and_keeps_nothing_else) {
    struct buf key = {0};
    succeed_many("k", 3, "x");
    fixture_advance(&fixture, 1);
    fixture_close(&fixture);
    keyspace_put_claim(&key, 0, bytes_of("k1"));
    fixture_edit_put(&fixture, KEYSPACE_DONE, buf_bytes(&key), bytes_of("no record"));
    buf_deinit(&key);
    fixture_open(&fixture);
    struct prune_progress end = prune((struct prune_request){.before = wall_now(), .force = true});
    ck_assert_int_eq(end.err, ERR_CORRUPT);
    ck_assert_uint_eq(end.removed_count, 2); // the one behind it as well
}
END_TEST

int main(void) {
    Suite *suite = suite_create("engine/prune");
    TCase *cases = tcase_create("prune");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, removes_what_is_final_and_older);
    tcase_add_test(cases, bodies_go_with_their_records);
    tcase_add_test(cases, space_comes_back_where_room_is_short);
    tcase_add_test(cases, dry_run_counts_and_changes_nothing);
    tcase_add_test(cases, only_the_tenants_and_consumers_that_were_named);
    tcase_add_test(cases, the_redelivery_window_is_kept);
    tcase_add_test(cases, a_jump_of_the_wall_clock_opens_no_window);
    tcase_add_test(cases, force_does_not_ask_for_the_window);
    tcase_add_test(cases, goes_on_only_when_told);
    tcase_add_test(cases, cancelled_between_chunks);
    tcase_add_test(cases, cancelled_within_a_chunk);
    tcase_add_test(cases, drained_within_a_chunk);
    tcase_add_test(cases, draining_ends_it);
    tcase_add_test(cases, so_many_at_a_time);
    tcase_add_test(cases, two_at_a_time_remove_each_record_once);
    tcase_add_test(cases, a_key_begun_anew_meanwhile_survives);
    tcase_add_test(cases, a_key_claimed_anew_meanwhile_stays_held);
    tcase_add_test(cases, waiters_on_what_is_pruned_do_not_exist);
    tcase_add_test(cases, damage_is_named_and_keeps_nothing_else);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
