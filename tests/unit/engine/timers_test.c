// The heap of deadlines against a list that is searched from end to end.
#include "engine/timers.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rand.h"

#define TIMERS 500
#define STEPS 20000

struct entry {
    struct timer timer;
    bool set; // by the model
    int64_t at_ms;
    uint64_t order; // of setting
};

static struct timers timers;
static struct entry entries[TIMERS];
static uint64_t order_next;
static size_t fired_count;
static int64_t now_ms;

static void setup(void) {
    timers = (struct timers){0};
    for (size_t i = 0; i < TIMERS; i++) entries[i] = (struct entry){0};
}

static void teardown(void) { timers_deinit(&timers); }

// The entry that the model fires next; NULL if nothing is set.
static struct entry *earliest(void) {
    struct entry *first = NULL;
    for (size_t i = 0; i < TIMERS; i++) {
        struct entry *entry = &entries[i];
        if (!entry->set) continue;
        if (first == NULL || entry->at_ms < first->at_ms ||
            (entry->at_ms == first->at_ms && entry->order < first->order)) {
            first = entry;
        }
    }
    return first;
}

static void entry_set(struct entry *entry, int64_t at_ms) {
    ck_assert_int_eq(timers_set(&timers, &entry->timer, (struct store_ms){at_ms}), ERR_OK);
    entry->set = true;
    entry->at_ms = at_ms;
    entry->order = order_next++;
}

static void fire(struct timer *timer, void *context) {
    struct entry *entry = (struct entry *)(void *)timer;
    ck_assert_ptr_eq(context, &now_ms);
    ck_assert_ptr_eq(entry, earliest());
    ck_assert_int_le(entry->at_ms, now_ms);
    ck_assert_uint_eq(entry->timer.slot, 0); // it may be set again from here
    entry->set = false;
    fired_count++;
    // One in four sets itself again, later.
    if (entry->order % 4 == 0) entry_set(entry, now_ms + 1 + (int64_t)(entry->order % 50));
}

static void check_next(void) {
    struct store_ms at;
    struct entry *first = earliest();
    ck_assert(timers_next(&timers, &at) == (first != NULL));
    if (first != NULL) ck_assert_int_eq(at.ms, first->at_ms);
}

START_TEST(random_against_a_list) {
    struct rand seeder = rand_from_kernel();
    uint64_t seed = rand_u64(&seeder);
    struct rand rand = rand_from_seed(seed);
    (void)fprintf(stderr, "timers: seed %llu\n", (unsigned long long)seed);
    for (size_t i = 0; i < TIMERS; i++) entries[i].timer.fire = fire;
    for (int step = 0; step < STEPS; step++) {
        struct entry *entry = &entries[rand_u64(&rand) % TIMERS];
        switch (rand_u64(&rand) % 4) {
        case 0:
        case 1: // few different deadlines, so that many are equal
            entry_set(entry, now_ms + (int64_t)(rand_u64(&rand) % 64));
            break;
        case 2:
            timers_unset(&timers, &entry->timer);
            entry->set = false;
            break;
        default:
            now_ms += (int64_t)(rand_u64(&rand) % 4);
            timers_run(&timers, (struct store_ms){now_ms}, &now_ms);
            ck_assert(earliest() == NULL || earliest()->at_ms > now_ms);
            break;
        }
        check_next();
    }
    ck_assert_uint_gt(fired_count, 1000);
}
END_TEST

static size_t fired[8];
static size_t fired_len;

static void note(struct timer *timer, void *context) {
    fired[fired_len++] = (size_t)(timer - (struct timer *)context);
}

START_TEST(equal_deadlines_fire_in_the_order_they_were_set) {
    struct timer list[5] = {0};
    for (size_t i = 0; i < 5; i++) {
        list[i].fire = note;
        ck_assert_int_eq(timers_set(&timers, &list[i], (struct store_ms){100}), ERR_OK);
    }
    // To set one again is to set it last.
    ck_assert_int_eq(timers_set(&timers, &list[1], (struct store_ms){100}), ERR_OK);
    timers_run(&timers, (struct store_ms){99}, list);
    ck_assert_uint_eq(fired_len, 0);
    timers_run(&timers, (struct store_ms){100}, list);
    static const size_t expected[] = {0, 2, 3, 4, 1};
    ck_assert_uint_eq(fired_len, 5);
    ck_assert_mem_eq(fired, expected, sizeof expected);
}
END_TEST

START_TEST(unset_twice_is_harmless) {
    struct timer timer = {.fire = note};
    timers_unset(&timers, &timer);
    ck_assert_int_eq(timers_set(&timers, &timer, (struct store_ms){1}), ERR_OK);
    timers_unset(&timers, &timer);
    timers_unset(&timers, &timer);
    struct store_ms at;
    ck_assert(!timers_next(&timers, &at));
    timers_run(&timers, (struct store_ms){INT64_MAX}, &timer);
    ck_assert_uint_eq(fired_len, 0);
}
END_TEST

static bool no_memory(void) { return true; }

START_TEST(without_memory_spare_places_are_used_and_then_refused) {
    static struct timer list[200];
    size_t set = 0;
    ck_assert_int_eq(timers_set(&timers, &list[set++], (struct store_ms){1}), ERR_OK);
    mem_set_fault_hook(no_memory);
    while (timers_set(&timers, &list[set], (struct store_ms){(int64_t)set}) == ERR_OK) set++;
    ck_assert_uint_eq(list[set].slot, 0); // left unset
    ck_assert_uint_eq(timers.count, set);
    // One that is set can be moved without memory.
    ck_assert_int_eq(timers_set(&timers, &list[0], (struct store_ms){500}), ERR_OK);
    mem_set_fault_hook(NULL);
    ck_assert_int_eq(timers_set(&timers, &list[set], (struct store_ms){7}), ERR_OK);
    ck_assert_uint_eq(timers.count, set + 1);
    ck_assert_uint_gt(set, 16);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("engine/timers");
    TCase *cases = tcase_create("timers");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, random_against_a_list);
    tcase_add_test(cases, equal_deadlines_fire_in_the_order_they_were_set);
    tcase_add_test(cases, unset_twice_is_harmless);
    tcase_add_test(cases, without_memory_spare_places_are_used_and_then_refused);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
