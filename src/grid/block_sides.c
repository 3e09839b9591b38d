/*
 * block_sides.c - the faces between the box of one part and those of others: who is beyond, the halo that brings its
 * numbers, and the weights of the faces. Boxes that touch have the same unknowns along the other axes.
 */
#include "grid/blocks.h"
#include <math.h>
#include <stdlib.h>

/* Point t of a side, in a box of this size, whose place along the axis is `at`. */
static int64_t point_of(const int64_t size[3], int axis, int64_t at, int64_t t)
{
    const int u = axis == 0 ? 1 : 0, v = axis == 2 ? 1 : 2;
    int64_t place[3];

    place[axis] = at, place[u] = t % size[u], place[v] = t / size[u];
    return place[0] + size[0] * (place[1] + size[1] * place[2]);
}

static int64_t own_point(const kry_block_part *b, const kry_block_side *s, int64_t t)
{
    return point_of(b->own->size, s->axis, s->high ? b->own->size[s->axis] - 1 : 0, t);
}

static int64_t point_beyond(const kry_block_part *b, const kry_block_side *s, int64_t t)
{
    const kry_grid_box box = kry_boxes_part(b->split->boxes, s->part);
    return point_of(box.size, s->axis, s->high ? 0 : box.size[s->axis] - 1, t);
}

int kry_block_sides(const kry_block_part *b, kry_block_side sides[6])
{
    const kry_stencil *A = b->own;
    const kry_boxes *B = b->split->boxes;
    int64_t at = 0;
    int count = 0;

    for (int f = 0; f < 2 * A->axes; f++) {
        const int axis = f / 2, high = f % 2;
        if (!A->block.inner[high][axis]) continue;
        /* it is inner, so that the grid goes on, around its end if need be */
        const kry_block_side s = { axis, kry_boxes_beside(B, b->rank, axis, high, true), high, 0,
                                   A->n / A->size[axis] };
        int to = count++;
        for (; to > 0 && sides[to - 1].part > s.part; to--) sides[to] = sides[to - 1];
        sides[to] = s;
    }
    for (int i = 0; i < count; at += sides[i++].count) sides[i].at = at;
    return count;
}

kry_status kry_block_halo(const kry_block_part *b, kry_device *dev, const kry_block_side *sides,
                          int count, int64_t **place, kry_halo **halo)
{
    kry_status st = KRY_OK;
    const int64_t numbers = count ? sides[count - 1].at + sides[count - 1].count : 0;
    kry_link want[6];
    int32_t *row = NULL;
    int links = 0;

    TRY(kry_alloc((size_t)numbers, sizeof *row, &row));
    TRY(kry_alloc((size_t)numbers, sizeof **place, place));
    for (int i = 0; i < count; i++) {
        const kry_block_side *s = &sides[i];
        if (i == 0 || s->part != sides[i - 1].part) want[links++] = (kry_link){ s->part, s->at, 0 };
        want[links - 1].count += s->count;
        for (int64_t t = 0; t < s->count; t++) {
            row[s->at + t] = (int32_t)point_beyond(b, s, t);
            (*place)[s->at + t] = b->split->first[s->part] + row[s->at + t];
        }
    }
    TRY(kry_halo_create(dev, b->own->type, want, links, row, halo));
done:
    free(row);
    return st;
}

/* ---- weights --------------------------------------------------------------------------------- */

int64_t kry_given_place(const kry_given_numbers *k, int64_t row)
{
    const int64_t at[3] = { row % k->all[0], row / k->all[0] % k->all[1],
                            row / k->all[0] / k->all[1] };
    int64_t place = 0;

    for (int a = 2; a >= 0; a--)
        place = place * k->box.size[a] + (at[a] - k->box.first[a] + k->all[a]) % k->all[a];
    return place;
}

/* The coefficient of a cell as devices have it. */
static double cell(const kry_stencil *A, const kry_given_numbers *k, int64_t row)
{
    const double v = k->cell[kry_given_place(k, row)];
    return A->type == KRY_F32 ? (double)(float)v : v;
}

/* The weight of the face between cell `row` and the one beyond, as stencil_faces in cl/grid/stencil.cl has it. */
static double weight_of(const kry_stencil *A, const kry_block_side *s, const kry_given_numbers *k,
                        int64_t row, int64_t beyond)
{
    const double weight = A->weight[s->axis];

    if (k->face[0]) return weight * k->face[s->axis][kry_given_place(k, s->high ? row : beyond)];
    if (!k->cell) return weight;
    return weight * 2 / (1 / cell(A, k, row) + 1 / cell(A, k, beyond));
}

/* What the weight is made of and the box has not checked itself. */
static kry_status check_given(const char *who, const kry_block_side *s, const kry_given_numbers *k,
                              int64_t row, int64_t beyond)
{
    kry_status st = KRY_OK;
    const int64_t lower = s->high ? row : beyond, i = k->face[0] ? lower : beyond;
    const double *given = k->face[0] ? k->face[s->axis] : k->cell;
    const double v = given ? given[kry_given_place(k, i)] : 1;

    CHECK(v > 0 && isfinite(v), KRY_ERR_ARGUMENT,
          "%s: %s %lld%s is %g; it must be positive and finite", who,
          k->face[0] ? "face" : "coefficient", (long long)i, k->face[0] ? kry_along[s->axis] : "",
          v);
done:
    return st;
}

static kry_status weigh(const char *who, const kry_block_part *b, const kry_block_side *s,
                        const kry_given_numbers *k, kry_sparse *far)
{
    kry_status st = KRY_OK;
    const kry_boxes *B = b->split->boxes;

    for (int64_t t = 0; t < s->count; t++) {
        const int64_t i = own_point(b, s, t), e = far->row_ptr[i + 1]++;
        const int64_t row = kry_boxes_row(B, b->rank, i),
                      beyond = kry_boxes_row(B, s->part, point_beyond(b, s, t));
        TRY(check_given(who, s, k, row, beyond));
        far->col[e] = (int32_t)(s->at + t);
        kry_number_put(far->type, far->val, e, -weight_of(b->own, s, k, row, beyond));
        const double v = kry_number_at(far->type, far->val, e);
        CHECK(v < 0 && isfinite(v), KRY_ERR_ARGUMENT,
              "%s: the face between cells %lld and %lld has weight %g; it must be positive and "
              "finite",
              who, (long long)row, (long long)beyond, -v);
    }
done:
    return st;
}

kry_status kry_block_far(const char *who, const kry_block_part *b, const kry_block_side *sides,
                         int count, const kry_given_numbers *k, kry_sparse *far)
{
    kry_status st = KRY_OK;
    const int64_t n = b->own->n, numbers = count ? sides[count - 1].at + sides[count - 1].count : 0;
    int64_t sum = 0;

    TRY(kry_sparse_create(n, numbers, b->own->type, numbers, far));
    for (int i = 0; i < count; i++)
        for (int64_t t = 0; t < sides[i].count; t++) far->row_ptr[own_point(b, &sides[i], t) + 1]++;
    for (int64_t i = 1; i <= n; i++) { /* where row i - 1 begins; weigh() moves it to its end */
        const int64_t length = far->row_ptr[i];
        far->row_ptr[i] = sum, sum += length;
    }
    for (int i = 0; i < count; i++) TRY(weigh(who, b, &sides[i], k, far));
done:
    if (st < 0) kry_sparse_release(far);
    return st;
}

void kry_block_upper_faces(const kry_block_part *b, const kry_block_side *side,
                           const kry_sparse *far, double *numbers)
{
    for (int64_t t = 0; t < side->count; t++) {
        const int64_t i = own_point(b, side, t), e = kry_sparse_find(far, i, side->at + t);
        numbers[i] = -kry_number_at(far->type, far->val, e);
    }
}
