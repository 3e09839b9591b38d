/* fuzz_gzip.c - a Matrix Market file, plain and compressed, from memory and from a file: the same
 * comes out. The first byte says how it is compressed: bits 0 to 3 the level, 4 and 5 in how many
 * members, 6 whether bytes that are not gzip follow, 7 whether it is cut short. */
#include "fuzz.h"
#include <kry/io.h>
#include <zlib.h>

/* One member behind `room` bytes that are there; how many there are then. */
static size_t compress_member(const uint8_t *bytes, size_t size, int level, uint8_t *to,
                              size_t room)
{
    z_stream z = { .next_in = (Bytef *)bytes, .avail_in = (uInt)size };
    z.next_out = to, z.avail_out = (uInt)room;
    ENSURE(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    ENSURE(deflate(&z, Z_FINISH) == Z_STREAM_END);
    deflateEnd(&z);
    return room - z.avail_out;
}

static size_t compressed(uint8_t how, const uint8_t *bytes, size_t size, uint8_t *to, size_t room)
{
    size_t members = 1 + (how >> 4) % 4, used = 0;
    for (size_t m = 0; m < members; m++) {
        size_t from = size * m / members, until = size * (m + 1) / members;
        used += compress_member(bytes + from, until - from, how % 16 % 10, to + used, room - used);
    }
    if (how & 64) to[used++] = 'x';
    return how & 128 ? used - used / 3 : used;
}

static bool alike(const kry_mtx *a, const kry_mtx *b)
{
    size_t nnz = (size_t)a->nnz;
    return a->field == b->field && a->symmetry == b->symmetry && a->array == b->array &&
           a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz &&
           (!a->row || !nnz || !memcmp(a->row, b->row, nnz * sizeof *a->row)) &&
           (!a->col || !nnz || !memcmp(a->col, b->col, nnz * sizeof *a->col)) &&
           (!nnz || !memcmp(a->val, b->val, nnz * sizeof *a->val));
}

/* A file and memory give the same; and the plain text does, unless the file was cut short. */
static void compare(const uint8_t *plain, size_t size, const uint8_t *gz, size_t gz_size,
                    bool whole)
{
    char path[96];
    kry_mtx *a = NULL, *b = NULL, *c = NULL;
    snprintf(path, sizeof path, "%s/matrix.mtx.gz", fuzz_folder());
    write_bytes(path, gz, gz_size);
    kry_status from_plain = kry_mtx_parse("plain", plain, size, &a);
    kry_status from_gz = kry_mtx_parse("gzip", gz, gz_size, &b);
    kry_status from_file = kry_mtx_read(path, &c);
    ENSURE((from_gz == KRY_OK) == (b != NULL) && (from_file == KRY_OK) == (c != NULL));
    ENSURE(!b || !c || alike(b, c));
    ENSURE(!b || !a || !whole || alike(a, b));
    if (whole) ENSURE(from_plain == from_gz && from_gz == from_file);
    kry_mtx_release(&a), kry_mtx_release(&b), kry_mtx_release(&c);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static uint8_t gz[1 << 16];
    if (size < 1 || size > sizeof gz / 4) return 0;
    if (size >= 3 && bytes[1] == 0x1f && bytes[2] == 0x8b) { /* a stream of its own */
        compare(bytes + 1, size - 1, bytes + 1, size - 1, true);
        return 0;
    }
    size_t gz_size = compressed(bytes[0], bytes + 1, size - 1, gz, sizeof gz);
    compare(bytes + 1, size - 1, gz, gz_size, !(bytes[0] & 128));
    return 0;
}
