#include "store/high_water.h"

#include <errno.h>
#include <fcntl.h>

#include "base/check.h"
#include "base/log.h"
#include "codec/crc32c.h"
#include "store/store_io.h"

// The file, overwritten in place (little-endian):
//   magic u32 | version u16 | reserved u16 | position u64 | crc32c u32 of all before it
// It lies within one sector, so that even a power cut leaves the old or the new one.
#define HIGH_WATER_MAGIC UINT32_C(0x77686C63) // "clhw"
#define HIGH_WATER_VERSION 1
#define HIGH_WATER_BYTES 20
#define HIGH_WATER_CRC_AT 16
_Static_assert(HIGH_WATER_CRC_AT == 4 + 2 + 2 + 8, "the checksum follows the fields");
_Static_assert(HIGH_WATER_BYTES == HIGH_WATER_CRC_AT + 4, "the checksum is the end");

static void high_water_put(uint8_t *out, uint64_t value, size_t width) {
    for (size_t i = 0; i < width; i++) out[i] = (uint8_t)(value >> (8 * i));
}

// By hand into a fixed array: this runs once for each group, and a struct buf would allocate.
static void high_water_encode(uint64_t position, uint8_t out[HIGH_WATER_BYTES]) {
    high_water_put(out, HIGH_WATER_MAGIC, 4);
    high_water_put(out + 4, HIGH_WATER_VERSION, 2);
    high_water_put(out + 6, 0, 2);
    high_water_put(out + 8, position, 8);
    uint32_t crc = crc32c(0, (struct bytes){out, HIGH_WATER_CRC_AT});
    high_water_put(out + HIGH_WATER_CRC_AT, crc, 4);
}

static enum err high_water_decode(struct bytes content, uint64_t *out_position) {
    if (content.len != HIGH_WATER_BYTES) return ERR_CORRUPT;
    struct reader reader = reader_init(content);
    uint32_t magic = reader_u32(&reader);
    uint16_t version = reader_u16(&reader);
    uint16_t reserved = reader_u16(&reader);
    uint64_t position = reader_u64(&reader);
    uint32_t crc = reader_u32(&reader);
    CHECK(reader_is_done(&reader));
    if (magic != HIGH_WATER_MAGIC || version != HIGH_WATER_VERSION || reserved != 0) {
        return ERR_CORRUPT;
    }
    if (crc != crc32c(0, (struct bytes){content.data, HIGH_WATER_CRC_AT})) return ERR_CORRUPT;
    *out_position = position;
    return ERR_OK;
}

static enum err high_water_fail(const char *doing, int error) {
    log_error("store: %s the high-water mark failed: %s", doing, store_io_error_text(error));
    return ERR_IO;
}

enum err high_water_create(const char *path, uint64_t position) {
    uint8_t content[HIGH_WATER_BYTES];
    high_water_encode(position, content);
    int error = store_io_create_file(path, content, sizeof content);
    if (error == EEXIST) return ERR_EXISTS;
    return error == 0 ? ERR_OK : high_water_fail("creating", error);
}

enum err high_water_open(const char *path, struct high_water *out, uint64_t *out_position) {
    int fd = -1;
    int error = store_io_open(path, O_RDWR, &fd);
    if (error == ENOENT) return ERR_NOT_FOUND;
    if (error != 0) return high_water_fail("opening", error);
    uint8_t content[HIGH_WATER_BYTES + 1]; // one more, to notice a file that is too long
    size_t len = 0;
    error = store_io_read(fd, content, sizeof content, &len);
    enum err err = error != 0 ? high_water_fail("reading", error)
                              : high_water_decode((struct bytes){content, len}, out_position);
    if (err != ERR_OK) {
        store_io_close(fd);
        return err;
    }
    out->fd = fd;
    return ERR_OK;
}

void high_water_close(struct high_water *mark) {
    store_io_close(mark->fd);
    mark->fd = -1;
}

enum err high_water_write(struct high_water *mark, uint64_t position) {
    CHECK(mark->fd >= 0);
    uint8_t content[HIGH_WATER_BYTES];
    high_water_encode(position, content);
    int error = store_io_write(mark->fd, content, sizeof content);
    return error == 0 ? ERR_OK : high_water_fail("writing", error);
}

enum err high_water_sync(struct high_water *mark) {
    CHECK(mark->fd >= 0);
    int error = store_io_sync(mark->fd);
    return error == 0 ? ERR_OK : high_water_fail("syncing", error);
}
