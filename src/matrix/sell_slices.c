/* sell_slices.c - which rows share a slice of SELL-C-sigma, and how much room that takes. */
#include "matrix/sell_slices.h"
#include <stdlib.h>
#include <string.h>

void kry_slices_release(kry_slices *s)
{
    free(s->perm);
    free(s->slice_ptr);
    *s = (kry_slices){ 0 };
}

static int64_t row_length(const kry_sparse *host, int64_t i)
{
    return i < 0 ? 0 : host->row_ptr[i + 1] - host->row_ptr[i];
}

/* ---- which rows share a slice ---------------------------------------------------------------- */

/* Rows begin ... end-1 into perm by falling length, equal ones in order: a counting sort.
 * `start` has room for longest+2. */
static void sort_window(const kry_sparse *host, int64_t begin, int64_t end, int64_t longest,
                        int64_t *start, int32_t *perm)
{
    memset(start, 0, ((size_t)longest + 2) * sizeof *start);
    for (int64_t i = begin; i < end; i++) start[longest - row_length(host, i) + 1]++;
    for (int64_t l = 0; l <= longest; l++) start[l + 1] += start[l];
    for (int64_t i = begin; i < end; i++)
        perm[begin + start[longest - row_length(host, i)]++] = (int32_t)i;
}

static kry_status sort_rows(const kry_sparse *host, kry_slices *s)
{
    kry_status st = KRY_OK;
    int64_t longest = 0, *start = NULL;

    if (s->sigma == 1) {
        for (int64_t i = 0; i < host->rows; i++) s->perm[i] = (int32_t)i;
        return KRY_OK;
    }
    TRY(kry_alloc((size_t)kry_longest_row(host) + 2, sizeof *start, &start));
    for (int64_t begin = 0; begin < host->rows; begin += s->sigma) {
        int64_t end = begin + s->sigma < host->rows ? begin + s->sigma : host->rows;
        for (int64_t i = begin, longest_here = longest = 0; i < end; i++) {
            longest_here = row_length(host, i);
            if (longest_here > longest) longest = longest_here;
        }
        sort_window(host, begin, end, longest, start, s->perm);
    }
done:
    free(start);
    return st;
}

/* Returns the number of slots, in double: it may be more than an int holds. */
static double cut_slices(const kry_sparse *host, kry_slices *s)
{
    double slots = 0;
    for (int64_t i = 0; i < s->slices; i++) {
        int64_t width = 0;
        for (int l = 0; l < s->height; l++) {
            int64_t length = row_length(host, s->perm[i * s->height + l]);
            if (length > width) width = length;
        }
        s->slice_ptr[i] = slots > INT32_MAX ? INT32_MAX : (int32_t)slots;
        slots += (double)(width * s->height);
    }
    s->slice_ptr[s->slices] = slots > INT32_MAX ? INT32_MAX : (int32_t)slots;
    return slots;
}

static kry_status slice_rows(const kry_sparse *host, int height, int sigma, kry_slices *s,
                             double *slots)
{
    kry_status st = KRY_OK;
    int64_t slices = (host->rows + height - 1) / height;

    *s = (kry_slices){ .rows = host->rows, .slices = slices, .height = height, .sigma = sigma };
    TRY(kry_alloc((size_t)(slices * height), sizeof *s->perm, &s->perm));
    TRY(kry_alloc((size_t)slices + 1, sizeof *s->slice_ptr, &s->slice_ptr));
    for (int64_t i = host->rows; i < slices * height; i++) s->perm[i] = -1;
    TRY(sort_rows(host, s));
    *slots = cut_slices(host, s);
done:
    if (st < 0) kry_slices_release(s);
    return st;
}

/* Unsorted where that costs little: sorted rows read x and write y less regularly. */
kry_status kry_slices_choose(const kry_sparse *host, int height, int sigma, kry_slices *best,
                             double *slots)
{
    kry_status st = KRY_OK;
    const int windows[] = { 16 * height, 256 * height };
    kry_slices s = { 0 };
    double more;

    TRY(slice_rows(host, height, sigma ? sigma : 1, best, slots));
    for (size_t w = 0; w < COUNT(windows) && !sigma; w++) {
        if (*slots <= 1.05 * (double)host->row_ptr[host->rows]) break;
        TRY(slice_rows(host, height, windows[w], &s, &more));
        if (more < 0.95 * *slots) {
            kry_slices t = *best;
            *best = s, s = t;
            *slots = more;
        }
        kry_slices_release(&s);
    }
done:
    if (st < 0) kry_slices_release(best);
    return st;
}

/* ---- what is expected of a matrix ------------------------------------------------------------ */

int kry_sell_bits(int64_t farthest)
{
    return farthest < UINT8_MAX ? 8 : farthest < UINT16_MAX ? 16 : 32;
}

kry_status kry_slices_check(const kry_device *dev, kry_type type, const kry_matrix_params *p,
                            int *height)
{
    kry_status st = KRY_OK;
    int native = dev->info.cpu_kernels ? kry_vector_width(dev, type) : 32;

    *height = p->slice ? p->slice : native;
    CHECK(*height >= 4 && *height <= 256 && (*height & (*height - 1)) == 0, KRY_ERR_ARGUMENT,
          "format sell: slices of %d rows; a power of two from 4 to 256 is needed", *height);
    CHECK(!dev->info.cpu_kernels || *height == native, KRY_ERR_UNSUPPORTED,
          "format sell: slices of %d rows; on CPUs a slice is a vector of %d", *height, native);
    CHECK(p->sigma >= 0 && (p->sigma <= 1 || p->sigma % *height == 0), KRY_ERR_ARGUMENT,
          "format sell: sigma = %d must be 1 or a multiple of the slice, %d", p->sigma, *height);
done:
    return st;
}

/* How far apart the columns side by side are at most if the rows of a slice are packed to the
 * left. */
static int64_t farthest_in_slice(const kry_sparse *host, const int32_t *rows, int height)
{
    int64_t farthest = 0, width = 0;
    for (int l = 0; l < height; l++)
        if (row_length(host, rows[l]) > width) width = row_length(host, rows[l]);
    for (int64_t k = 0; k < width; k++) {
        int64_t least = INT32_MAX, most = -1;
        for (int l = 0; l < height; l++) {
            if (row_length(host, rows[l]) <= k) continue;
            int64_t col = host->col[host->row_ptr[rows[l]] + k];
            least = col < least ? col : least, most = col > most ? col : most;
        }
        if (most - least > farthest) farthest = most - least;
    }
    return farthest;
}

kry_status kry_sell_estimate(const kry_device *dev, const kry_sparse *host,
                             const kry_matrix_params *params, double *slots, bool *sorted,
                             double *index_bytes)
{
    enum { SAMPLES = 64 };
    kry_status st = KRY_OK;
    kry_slices c = { 0 };
    int height;

    TRY(kry_slices_check(dev, host->type, params, &height));
    TRY(kry_slices_choose(host, height, params->sigma, &c, slots));
    *sorted = c.sigma > 1;
    int64_t farthest = 0, step = c.slices / SAMPLES + 1;
    for (int64_t i = 0; i < c.slices; i += step) {
        int64_t here = farthest_in_slice(host, c.perm + i * height, height);
        if (here > farthest) farthest = here;
    }
    *index_bytes = kry_sell_bits(farthest) / 8.0;
done:
    kry_slices_release(&c);
    return st;
}
