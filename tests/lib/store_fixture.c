#include "store_fixture.h"

#include <stdio.h>

#include <check.h>

#include "base/scope.h"

void store_fixture_init(struct store_fixture *fixture) {
    *fixture = (struct store_fixture){.options = store_options_default()};
    temp_dir_create(TEMP_DIR_ON_DISK, &fixture->temp);
    (void)snprintf(fixture->dir, sizeof fixture->dir, "%s/data", fixture->temp.path);
    fixture->batch = store_batch_create();
    ck_assert_ptr_nonnull(fixture->batch);
}

void store_fixture_deinit(struct store_fixture *fixture) {
    store_fixture_close(fixture);
    store_batch_destroy(fixture->batch);
    temp_dir_remove(&fixture->temp);
    *fixture = (struct store_fixture){0};
}

void store_fixture_create(struct store_fixture *fixture) {
    struct error_detail detail = {0};
    enum err err = store_create(fixture->dir, STORE_FIXTURE_FIRST_TOKEN, &detail);
    ck_assert_msg(err == ERR_OK, "create: %s: %s", error_reason(err), detail.text);
}

enum err store_fixture_try_open(struct store_fixture *fixture, struct error_detail *detail) {
    ck_assert_ptr_null(fixture->store);
    return store_open(fixture->dir, &fixture->options, &fixture->store, detail);
}

void store_fixture_open(struct store_fixture *fixture) {
    struct error_detail detail = {0};
    enum err err = store_fixture_try_open(fixture, &detail);
    ck_assert_msg(err == ERR_OK, "open: %s: %s", error_reason(err), detail.text);
}

void store_fixture_close(struct store_fixture *fixture) {
    store_close(fixture->store);
    fixture->store = NULL;
}

void store_fixture_put(struct store_fixture *fixture, enum keyspace_family family, const char *key,
                       const char *value) {
    store_batch_put(fixture->batch, fixture->store, family, bytes_of(key), bytes_of(value));
}

void store_fixture_delete(struct store_fixture *fixture, enum keyspace_family family,
                          const char *key) {
    store_batch_delete(fixture->batch, fixture->store, family, bytes_of(key));
}

uint64_t store_fixture_commit(struct store_fixture *fixture) {
    SCOPE_BUF struct buf head = {0};
    uint64_t position = store_position(fixture->store) + 1;
    keyspace_put_head(&head, &(struct keyspace_head){.position = position, .term = 0});
    ck_assert(!head.failed);
    store_batch_put(fixture->batch, fixture->store, KEYSPACE_META, keyspace_head_key(),
                    buf_bytes(&head));
    enum err err = store_write(fixture->store, fixture->batch, position);
    ck_assert_msg(err == ERR_OK, "write: %s", error_reason(err));
    store_batch_clear(fixture->batch);
    return position;
}

void store_fixture_expect(struct store_fixture *fixture, enum keyspace_family family,
                          const char *key, const char *value) {
    SCOPE_BUF struct buf out = {0};
    enum err err = store_get(fixture->store, family, bytes_of(key), STORE_MAY_READ, &out);
    if (value == NULL) {
        ck_assert_msg(err == ERR_NOT_FOUND, "%s: %s", key, error_reason(err));
        return;
    }
    ck_assert_msg(err == ERR_OK, "%s: %s", key, error_reason(err));
    ck_assert_msg(bytes_equal(buf_bytes(&out), bytes_of(value)), "%s has another value", key);
}

const char *store_fixture_path(const struct store_fixture *fixture, const char *name) {
    return temp_dir_join(fixture->dir, name);
}
