// The names of consumers and their counts: numbered from 0, bounded for each tenant, written once.
#include "engine/consumers.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "codec/effect_codec.h"

static struct consumers consumers;

static void setup(void) { ck_assert_int_eq(consumers_init(&consumers), ERR_OK); }

static void teardown(void) { consumers_deinit(&consumers); }

static struct consumer *add(const char *tenant, const char *name) {
    struct consumer *consumer = NULL;
    ck_assert_int_eq(consumers_add(&consumers, bytes_of(tenant), bytes_of(name), &consumer),
                     ERR_OK);
    return consumer;
}

static struct consumer *find(const char *tenant, const char *name) {
    return consumers_find(&consumers, bytes_of(tenant), bytes_of(name));
}

START_TEST(names_are_numbered_and_found) {
    struct consumer *a = add("", "billing");
    struct consumer *b = add("x", "billing");
    struct consumer *c = add("", "billing/capture");
    ck_assert_uint_eq(a->number, 0);
    ck_assert_uint_eq(b->number, 1);
    ck_assert_uint_eq(c->number, 2);
    ck_assert_ptr_eq(find("", "billing"), a);
    ck_assert_ptr_eq(find("x", "billing"), b);
    ck_assert_ptr_eq(find("", "billing/capture"), c);
    ck_assert_ptr_null(find("", "Billing"));
    ck_assert_ptr_null(find("", "xbilling")); // where the tenant ends is part of the name
    ck_assert_ptr_null(find("xb", "illing"));
    ck_assert_ptr_eq(consumers_at(&consumers, 1), b);
    ck_assert_ptr_null(consumers_at(&consumers, 3));
    ck_assert(bytes_equal(consumer_tenant(b), bytes_of("x")));
    ck_assert(bytes_equal(consumer_name(b), bytes_of("billing")));
}
END_TEST

START_TEST(quota_is_each_tenants_own) {
    struct consumer *consumer;
    char name[16];
    for (int i = 0; i < LIMIT_CONSUMERS_PER_TENANT_MAX; i++) {
        (void)snprintf(name, sizeof name, "c%d", i);
        add("t", name);
    }
    ck_assert_int_eq(consumers_add(&consumers, bytes_of("t"), bytes_of("more"), &consumer),
                     ERR_CONSUMER_QUOTA);
    ck_assert_ptr_null(find("t", "more"));
    ck_assert_uint_eq(add("", "more")->number, LIMIT_CONSUMERS_PER_TENANT_MAX);
    ck_assert_uint_eq(add("u", "more")->number, LIMIT_CONSUMERS_PER_TENANT_MAX + 1);
    for (uint32_t i = 0; i < LIMIT_CONSUMERS_PER_TENANT_MAX; i++) {
        (void)snprintf(name, sizeof name, "c%u", i);
        ck_assert_ptr_eq(find("t", name), consumers_at(&consumers, i));
    }
}
END_TEST

START_TEST(loaded_numbers_run_on_from_zero) {
    struct keyspace_consumer names = {bytes_of("t"), bytes_of("a")};
    ck_assert_int_eq(consumers_load(&consumers, 1, &names), ERR_CORRUPT);
    ck_assert_int_eq(consumers_load(&consumers, 0, &names), ERR_OK);
    ck_assert_int_eq(consumers_load(&consumers, 0, &names), ERR_CORRUPT);
    names.name = bytes_of("b");
    ck_assert_int_eq(consumers_load(&consumers, 1, &names), ERR_OK);
    ck_assert_ptr_eq(find("t", "b"), consumers_at(&consumers, 1));
    ck_assert_ptr_null(consumers.changed); // it is in the store already
}
END_TEST

// What the next group would carry: each consumer's name, and its counts, at most once.
struct changes {
    uint32_t ops;
    uint32_t names[8];
    size_t name_count;
    uint32_t counts[8];
    size_t count_count;
    struct keyspace_counts last;
};

static struct changes changes_of(void) {
    struct buf frame = {0};
    struct changes changes = {0};
    struct effect_reader reader;
    struct effect_op op;
    effect_begin(&frame);
    changes.ops = consumers_put_changes(&consumers, &frame);
    effect_end(&frame, changes.ops);
    ck_assert(!frame.failed);
    ck_assert_int_eq(effect_open(buf_bytes(&frame), &reader), ERR_OK);
    while (effect_next(&reader, &op)) {
        uint32_t number;
        struct keyspace_consumer names;
        ck_assert(op.is_put && op.family == KEYSPACE_META);
        if (keyspace_parse_consumer_key(op.key, &number) == ERR_OK) {
            ck_assert_int_eq(keyspace_parse_consumer(op.value, &names), ERR_OK);
            ck_assert(bytes_equal(names.name, consumer_name(consumers_at(&consumers, number))));
            changes.names[changes.name_count++] = number;
        } else {
            ck_assert_int_eq(keyspace_parse_counts_key(op.key, &number), ERR_OK);
            ck_assert_int_eq(keyspace_parse_counts(op.value, &changes.last), ERR_OK);
            changes.counts[changes.count_count++] = number;
        }
    }
    buf_deinit(&frame);
    return changes;
}

START_TEST(changes_ride_in_one_group_each) {
    struct consumer *a = add("", "a");
    struct consumer *b = add("", "b");
    consumers_count(&consumers, b, 0, CLAIM_PROCESSING);
    consumers_count(&consumers, b, CLAIM_PROCESSING, CLAIM_SUCCEEDED);
    struct changes changes = changes_of();
    ck_assert_uint_eq(changes.ops, 3);
    ck_assert_uint_eq(changes.name_count, 2);
    ck_assert_uint_eq(changes.count_count, 1);
    ck_assert_uint_eq(changes.counts[0], b->number);
    ck_assert_uint_eq(changes.last.by_state[CLAIM_SUCCEEDED - 1], 1);
    ck_assert_uint_eq(changes.last.by_state[CLAIM_PROCESSING - 1], 0);
    ck_assert_uint_eq(changes_of().ops, 3); // pending until they are taken
    consumers_changes_taken(&consumers);
    ck_assert_uint_eq(changes_of().ops, 0);

    consumers_count(&consumers, a, CLAIM_RETRYING, CLAIM_RETRYING); // moves nothing
    ck_assert_uint_eq(changes_of().ops, 0);
    consumers_count(&consumers, a, 0, CLAIM_RECEIVED);
    changes = changes_of();
    ck_assert_uint_eq(changes.ops, 1);
    ck_assert_uint_eq(changes.counts[0], a->number);
}
END_TEST

START_TEST(totals_are_sums) {
    uint64_t by_state[CLAIM_STATES];
    struct consumer *a = add("", "a");
    struct consumer *b = add("t", "b");
    for (int i = 0; i < 3; i++) consumers_count(&consumers, a, 0, CLAIM_PROCESSING);
    consumers_count(&consumers, b, 0, CLAIM_PROCESSING);
    consumers_count(&consumers, a, CLAIM_PROCESSING, CLAIM_DEAD_LETTERED);
    consumers_count(&consumers, a, CLAIM_PROCESSING, 0);
    consumers_total(&consumers, by_state);
    for (int state = 1; state <= CLAIM_STATES; state++) {
        uint64_t expected = 0;
        if (state == CLAIM_PROCESSING) expected = 2;
        if (state == CLAIM_DEAD_LETTERED) expected = 1;
        ck_assert_uint_eq(by_state[state - 1], expected);
    }
}
END_TEST

static int allocations_left;

static bool fail_after(void) { return allocations_left-- == 0; }

START_TEST(every_allocation_may_fail) {
    struct consumer *consumer;
    int failed = 0;
    for (int n = 0;; n++) {
        allocations_left = n;
        mem_set_fault_hook(fail_after);
        enum err err = consumers_add(&consumers, bytes_of("t"), bytes_of("a"), &consumer);
        mem_set_fault_hook(NULL);
        if (err == ERR_OK) break;
        ck_assert_int_eq(err, ERR_NO_MEMORY);
        ck_assert_uint_eq(consumers.count, 0);
        ck_assert_ptr_null(find("t", "a"));
        failed++;
        consumers_deinit(&consumers); // or the next try would find what this one has allocated
        setup();
    }
    ck_assert_int_ge(failed, 3);
    ck_assert_ptr_eq(find("t", "a"), consumer);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("engine/consumers");
    TCase *cases = tcase_create("consumers");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, names_are_numbered_and_found);
    tcase_add_test(cases, quota_is_each_tenants_own);
    tcase_add_test(cases, loaded_numbers_run_on_from_zero);
    tcase_add_test(cases, changes_ride_in_one_group_each);
    tcase_add_test(cases, totals_are_sums);
    tcase_add_test(cases, every_allocation_may_fail);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
