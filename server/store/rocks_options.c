#include "store/rocks_options.h"

#include "base/check.h"

#define MIB ((size_t)1024 * 1024)

const char *const rocks_family_names[ROCKS_FAMILIES] = {
    "default", // RocksDB's own
    [ROCKS_FAMILY_INDEX(KEYSPACE_OPEN)] = "open",
    [ROCKS_FAMILY_INDEX(KEYSPACE_DONE)] = "done",
    [ROCKS_FAMILY_INDEX(KEYSPACE_BLOB)] = "blob",
    [ROCKS_FAMILY_INDEX(KEYSPACE_GUARD)] = "guard",
    [ROCKS_FAMILY_INDEX(KEYSPACE_AUDIT)] = "audit",
    [ROCKS_FAMILY_INDEX(KEYSPACE_META)] = "meta",
};

struct store_options store_options_default(void) {
    // 96 MiB hold filters and indexes of about 50 million records. With the memtables' bound of
    // four write buffers the store stays near 170 MiB, which leaves the rest of the server 130 MiB
    // of the 300 it may take.
    return (struct store_options){
        .cache_bytes = 96 * MIB,
        .write_buffer_bytes = 16 * MIB,
        .relaxed = false,
    };
}

// Options that the C interface has no setters for.
static void rocks_options_set_by_name(rocksdb_options_t **options) {
    rocksdb_options_t *named = rocksdb_options_create();
    char *text = NULL;
    // The first: a log file that was closed and is missing or cut at the next open is noticed; the
    // high-water mark alone would miss it once the meta family has been flushed beyond it.
    // The second: a failed write ends the process, and this library aborts when it resumes.
    rocksdb_get_options_from_string(
        *options, "track_and_verify_wals_in_manifest=true;max_bgerror_resume_count=0", named,
        &text);
    CHECK(text == NULL); // the text is ours, and so is the library
    rocksdb_options_destroy(*options);
    *options = named;
}

static rocksdb_options_t *rocks_options_database(const struct store_options *options, bool create) {
    rocksdb_options_t *database = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(database, create);
    rocksdb_options_set_create_missing_column_families(database, create);
    rocksdb_options_set_error_if_exists(database, create);
    rocksdb_options_set_paranoid_checks(database, 1);
    // A torn tail, which a kill leaves, opens; damage before it is refused. What this mode lets
    // pass (a log cut or gone) the high-water mark and the tracking of closed logs notice.
    rocksdb_options_set_wal_recovery_mode(database, 0);
    rocksdb_options_set_db_write_buffer_size(database, 4 * options->write_buffer_bytes);
    // A family that is seldom written keeps old logs alive; this bounds what start-up replays.
    rocksdb_options_set_max_total_wal_size(database, 128 * MIB);
    rocksdb_options_set_max_open_files(database, -1);
    rocksdb_options_set_max_background_jobs(database, 2);
    rocksdb_options_set_bytes_per_sync(database, MIB);
    rocksdb_options_set_manual_wal_flush(database, 0);
    rocksdb_options_set_enable_pipelined_write(database, 0);
    rocksdb_options_set_WAL_ttl_seconds(database, 0); // neither by age nor by size: no archive
    rocksdb_options_set_WAL_size_limit_MB(database, 0);
    rocksdb_options_set_keep_log_file_num(database, 5); // these are texts for people
    rocksdb_options_set_max_log_file_size(database, 8 * MIB);
    rocksdb_options_set_stats_dump_period_sec(database, 0);
    rocksdb_options_set_stats_persist_period_sec(database, 0);
    rocksdb_options_set_skip_stats_update_on_db_open(database, 1);
    rocks_options_set_by_name(&database);
    return database;
}

static size_t rocks_options_buffer(const struct store_options *options, size_t index) {
    switch (index) {
    case ROCKS_FAMILY_INDEX(KEYSPACE_OPEN):
    case ROCKS_FAMILY_INDEX(KEYSPACE_DONE):
    case ROCKS_FAMILY_INDEX(KEYSPACE_BLOB):
        return options->write_buffer_bytes;
    case ROCKS_FAMILY_INDEX(KEYSPACE_META):
        return 4 * MIB; // a few rows, rewritten by each group
    default:
        return 2 * MIB;
    }
}

static rocksdb_options_t *rocks_options_family(size_t buffer_bytes,
                                               rocksdb_block_based_table_options_t *table) {
    rocksdb_options_t *family = rocksdb_options_create();
    rocksdb_options_set_write_buffer_size(family, buffer_bytes);
    rocksdb_options_set_max_write_buffer_number(family, 4);
    rocksdb_options_set_memtable_prefix_bloom_size_ratio(family, 0.05);
    rocksdb_options_set_memtable_whole_key_filtering(family, 1);
    rocksdb_options_set_compression(family, rocksdb_lz4_compression);
    rocksdb_options_set_bottommost_compression(family, rocksdb_zstd_compression);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(family, 1);
    rocksdb_options_set_target_file_size_base(family, 64 * MIB);
    rocksdb_options_set_max_bytes_for_level_base(family, 256 * MIB);
    rocksdb_options_set_block_based_table_factory(family, table);
    return family;
}

// Few shards: a file's filter is one block of up to 2 MiB, and a block that is larger than its
// shard is thrown out at once and would make every cache-only read of that file miss.
static rocksdb_cache_t *rocks_options_cache(size_t cache_bytes) {
    rocksdb_lru_cache_options_t *lru = rocksdb_lru_cache_options_create();
    rocksdb_lru_cache_options_set_capacity(lru, cache_bytes);
    rocksdb_lru_cache_options_set_num_shard_bits(lru, cache_bytes < 64 * MIB ? 0 : 2);
    rocksdb_cache_t *cache = rocksdb_cache_create_lru_opts(lru);
    rocksdb_lru_cache_options_destroy(lru);
    return cache;
}

static rocksdb_block_based_table_options_t *rocks_options_table(rocksdb_cache_t *cache) {
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_cache(table, cache);
    rocksdb_block_based_options_set_block_size(table, 4096);
    rocksdb_block_based_options_set_format_version(table, 5);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(table, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(table, 1);
    rocksdb_block_based_options_set_whole_key_filtering(table, 1);
    // The table options own the policy from here on.
    rocksdb_block_based_options_set_filter_policy(table,
                                                  rocksdb_filterpolicy_create_bloom_full(10));
    return table;
}

void rocks_options_init(const struct store_options *options, bool create,
                        struct rocks_options *out) {
    CHECK(options->write_buffer_bytes > 0);
    rocksdb_cache_t *cache = rocks_options_cache(options->cache_bytes);
    rocksdb_block_based_table_options_t *table = rocks_options_table(cache);
    out->database = rocks_options_database(options, create);
    for (size_t i = 0; i < ROCKS_FAMILIES; i++) {
        out->family[i] = rocks_options_family(rocks_options_buffer(options, i), table);
    }
    // Each family keeps a reference of its own.
    rocksdb_block_based_options_destroy(table);
    rocksdb_cache_destroy(cache);
}

void rocks_options_deinit(struct rocks_options *options) {
    rocksdb_options_destroy(options->database);
    for (size_t i = 0; i < ROCKS_FAMILIES; i++) rocksdb_options_destroy(options->family[i]);
    *options = (struct rocks_options){0};
}
