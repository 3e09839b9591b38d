/* colours.c - sub-domains that one product with A tells apart: two labels that some row meets get
 * different colours, the first that is free. Four or five colours do for blocks of a plane. */
#include "precond/couplings.h"
#include "precond/galerkin.h"
#include <stdlib.h>
#include <string.h>

/* Pairs of labels that a row meets, as a * k + b with a < b. */
typedef struct pairs {
    int64_t *key, count, capacity;
} pairs;

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void make_unique(pairs *p)
{
    int64_t kept = 0;
    if (p->count) qsort(p->key, (size_t)p->count, sizeof *p->key, ascending);
    for (int64_t i = 0; i < p->count; i++)
        if (!kept || p->key[kept - 1] != p->key[i]) p->key[kept++] = p->key[i];
    p->count = kept;
}

/* Room for one more; where many are alike, by forgetting those that are known. */
static kry_status reserve(pairs *p)
{
    kry_status st = KRY_OK;
    if (p->count < p->capacity) return KRY_OK;
    make_unique(p);
    if (2 * p->count < p->capacity) return KRY_OK;
    int64_t capacity = p->capacity ? 2 * p->capacity : 1024;
    TRY(kry_realloc((size_t)capacity, sizeof *p->key, &p->key));
    p->capacity = capacity;
done:
    return st;
}

static kry_status meet(const kry_couplings *rows, const kry_subspace *Z, pairs *p)
{
    kry_status st = KRY_OK;
    int32_t room[7];
    const int32_t *cols;

    for (int64_t i = 0; i < Z->n; i++) {
        int64_t count = kry_couplings_at(rows, i, room, &cols);
        for (int64_t j = 0; j < count; j++) {
            int64_t a = Z->labels[cols[j]];
            for (int64_t l = j; l < count; l++) {
                int64_t b = Z->labels[cols[l]], key = a < b ? a * Z->k + b : b * Z->k + a;
                if (a == b || (p->count && p->key[p->count - 1] == key)) continue;
                TRY(reserve(p));
                p->key[p->count++] = key;
            }
        }
    }
    make_unique(p);
done:
    return st;
}

/* Those of all parts of a team: each paints the same graph. */
static kry_status join(kry_layout *layout, pairs *p)
{
    kry_status st = KRY_OK;
    size_t total;
    int64_t *all = NULL;

    if (kry_layout_size(layout) == 1) return KRY_OK;
    TRY(kry_layout_collect(layout, p->key, (size_t)p->count, sizeof *p->key, &all, &total));
    free(p->key);
    *p = (pairs){ all, (int64_t)total, (int64_t)total };
    make_unique(p);
done:
    return st;
}

/* The pairs as neighbours of each label, in both directions. */
static kry_status neighbours(const pairs *p, int64_t k, int64_t *ptr, int32_t **all)
{
    kry_status st = KRY_OK;
    int64_t *at = NULL;

    for (int64_t i = 0; i < p->count; i++) ptr[p->key[i] / k + 1]++, ptr[p->key[i] % k + 1]++;
    for (int64_t s = 0; s < k; s++) ptr[s + 1] += ptr[s];
    TRY(kry_alloc(2 * (size_t)p->count, sizeof **all, all));
    TRY(kry_alloc((size_t)k, sizeof *at, &at));
    memcpy(at, ptr, (size_t)k * sizeof *at);
    for (int64_t i = 0; i < p->count; i++) {
        int64_t a = p->key[i] / k, b = p->key[i] % k;
        (*all)[at[a]++] = (int32_t)b;
        (*all)[at[b]++] = (int32_t)a;
    }
done:
    free(at);
    return st;
}

static kry_status paint(const int64_t *ptr, const int32_t *all, int64_t k, kry_colours *colours)
{
    kry_status st = KRY_OK;
    int32_t *taken_by = NULL; /* by which label's neighbours each colour was taken last, plus one */

    TRY(kry_alloc((size_t)k + 1, sizeof *taken_by, &taken_by));
    colours->count = 0;
    for (int64_t s = 0; s < k; s++) {
        int32_t c = 0;
        for (int64_t j = ptr[s]; j < ptr[s + 1]; j++)
            if (all[j] < s) taken_by[colours->of_label[all[j]]] = (int32_t)s + 1;
        while (taken_by[c] == s + 1) c++;
        colours->of_label[s] = c;
        if (c >= colours->count) colours->count = c + 1;
    }
done:
    free(taken_by);
    return st;
}

kry_status kry_colours_find(const kry_op *A, const kry_subspace *Z, kry_colours *colours)
{
    kry_status st = KRY_OK;
    kry_couplings rows = { 0 };
    pairs p = { 0 };
    int64_t *ptr = NULL;
    int32_t *all = NULL;

    *colours = (kry_colours){ 0 };
    if (Z->vectors) return KRY_OK;
    TRY(kry_alloc((size_t)Z->k, sizeof *colours->of_label, &colours->of_label));
    TRY(kry_couplings_of(A, &rows));
    if (!rows.known) { /* each alone */
        for (int64_t s = 0; s < Z->k; s++) colours->of_label[s] = (int32_t)s;
        colours->count = (int32_t)Z->k;
        goto done;
    }
    TRY(kry_alloc((size_t)Z->k + 1, sizeof *ptr, &ptr));
    TRY(meet(&rows, Z, &p));
    TRY(join(&Z->dev->layout, &p));
    TRY(neighbours(&p, Z->k, ptr, &all));
    TRY(paint(ptr, all, Z->k, colours));
done:
    free(p.key);
    free(ptr);
    free(all);
    kry_couplings_release(&rows);
    if (st < 0) kry_colours_release(colours);
    return st;
}

void kry_colours_release(kry_colours *colours)
{
    free(colours->of_label);
    *colours = (kry_colours){ 0 };
}
