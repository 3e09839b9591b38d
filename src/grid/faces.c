/*
 * faces.c - coefficients of cells and of faces, from the host to the device.
 * Kernel: stencil_faces in cl/grid/stencil.cl.
 */
#include "grid/stencil.h"
#include "operator/op.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

kry_status kryi_stencil_check_faces(const kry_stencil_params *p)
{
    kry_status st = KRY_OK;
    int axes = p->size[2] ? 3 : 2;

    for (int a = 0; a < 3; a++) {
        bool wanted = p->face[0] && a < axes;
        CHECK(!p->face[a] == !wanted, KRY_ERR_ARGUMENT,
              "kry_stencil_create: faces along %c are %s; faces are given for all %d axes or none",
              "xyz"[a], wanted ? "missing" : "given", axes);
        CHECK(!wanted || p->coefficient || !kryi_gives_values(p->low[a]), KRY_ERR_ARGUMENT,
              "kry_stencil_create: the low side of %c has given values, which need coefficients "
              "beside the faces",
              "xyz"[a]);
    }
done:
    return st;
}

/* ---- on the device ------------------------------------------------------------------------------- */

/* Compute all faces from the coefficients on the device. */
static kry_status make_faces(kryi_stencil *A)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;
    const cl_mem *f = A->face;
    int64_t layers = A->slab.count + A->slab.high;
    kryi_kernel *kernel;
    kryi_scalar w[3];
    cl_int size[3];
    const cl_int sides = kryi_stencil_sides(A);

    for (int a = 0; a < 3; a++) {
        w[a] = kryi_scalar_of(dev, A->weight[a]);
        size[a] = (cl_int)(a == A->axes - 1 ? layers : A->size[a]);
    }
    const kry_arg args[] = { ARG(size[0]),
                             ARG(size[1]),
                             ARG(size[2]),
                             ARG_ACC(dev, w[0]),
                             ARG_ACC(dev, w[1]),
                             ARG_ACC(dev, w[2]),
                             ARG(sides),
                             ARG(A->coefficient),
                             ARG(f[0]),
                             ARG(f[1]),
                             ARG(f[A->axes == 3 ? 2 : 0]) };
    TRY(kryi_stencil_maker(A, "stencil_faces", &kernel));
    TRY(kryi_launch(A->dev, kernel, kryi_groups_for(A->dev, A->type, A->slab.layer * layers), args,
                    COUNT(args)));
done:
    return st;
}

/* ---- from the host ---------------------------------------------------------------------------- */

enum { CELLS = 3 }; /* in the place of an axis: the coefficients of cells */

/* How many layers the caller gives: all, or those here and the ones next to them. And where among them one stands of
 * the whole grid, whose first layer follows the last one. */
static int64_t layers_given(const kryi_stencil *A)
{
    const kryi_slab *s = &A->slab;
    return A->local ? s->count + s->low + s->high : s->all;
}

static int64_t place_given(const kryi_stencil *A, int64_t layer)
{
    const kryi_slab *s = &A->slab;
    return A->local ? (layer - s->first + s->low + s->all) % s->all : layer;
}

/* Convert the coefficients of cells, or the weights of the faces along an axis, of `layers` layers from
 * layer `first` on to the operator's type; faces of Neumann sides are 0.
 *   k  of the layers that are given */
static kry_status convert(const kryi_stencil *A, const char *who, int axis, const double *k,
                          int64_t first, int64_t layers, void *host)
{
    static const char *const along[] = { " along x", " along y", " along z", "" };
    kry_status st = KRY_OK;
    const kryi_slab *s = &A->slab;
    const bool cells = axis == CELLS;
    const double weight = cells ? 1 : A->weight[axis];
    int64_t stride = axis == 0 ? 1 : axis == 1 ? A->size[0] : s->layer, to = 0;
    int64_t size = cells ? s->all : kryi_stencil_size_of_all(A, axis);
    int64_t last = !cells && A->high[axis] == KRY_NEUMANN ? size - 1 : -1;

    assert(k);
    for (int64_t l = 0; l < layers; l++) {
        const int64_t layer = (first + l + s->all) % s->all, begin = layer * s->layer;
        const int64_t given = place_given(A, layer) * s->layer - begin; /* and i: where k has it */
        int64_t at = begin / stride % size;
        for (int64_t row = begin; row < begin + s->layer; row += stride) {
            bool unused = at == last;
            for (int64_t i = row; i < row + stride; i++, to++) {
                kryi_number_put(A->type, host, to, unused ? 0 : weight * k[given + i]);
                double v = kryi_number_at(A->type, host, to);
                CHECK(unused || (v > 0 && isfinite(v)), KRY_ERR_ARGUMENT,
                      "%s: %s %lld%s is %g; it must be positive and finite", who,
                      cells ? "coefficient" : "face", (long long)i, along[axis], k[given + i]);
            }
            at = at + 1 < size ? at + 1 : 0;
        }
    }
done:
    return st;
}

/* Write `layers` layers from the first one here on to the device. */
static kry_status take(const kryi_stencil *A, const char *who, int axis, const double *k,
                       int64_t layers, cl_mem buffer)
{
    kry_status st = KRY_OK;
    size_t size = kry_type_size(A->type), count = (size_t)(A->slab.layer * layers);
    void *host = NULL;

    TRY(kryi_alloc(count, size, &host));
    TRY(convert(A, who, axis, k, A->slab.first, layers, host));
    TRY(kryi_buffer_write(A->dev, buffer, 0, count * size, host));
done:
    free(host);
    return st;
}

/* Take the coefficients, and compute faces from them if none are given. */
static kry_status take_cells(kryi_stencil *A, const char *who, const double *k)
{
    kry_status st = KRY_OK;
    TRY(take(A, who, CELLS, k, A->slab.count + A->slab.high, A->coefficient));
    if (!A->faces_given) TRY(make_faces(A));
done:
    return st;
}

static kry_status take_faces(kryi_stencil *A, const char *who, const double *const face[3])
{
    kry_status st = KRY_OK;

    assert(A->axes >= 1 && A->axes <= 3);
    for (int a = 0; a < A->axes; a++) TRY(take(A, who, a, face[a], A->slab.count, A->face[a]));
done:
    return st;
}

/* ---- both ----------------------------------------------------------------------------------- */

static kry_status create_buffer(kryi_stencil *A, int64_t count, cl_mem *buffer)
{
    if (*buffer) return KRY_OK;
    return kryi_buffer_create(A->dev, (size_t)count * kry_type_size(A->type), buffer);
}

/* How many cells are here and in the layer above. */
static int64_t cells_of(const kryi_stencil *A) { return A->n + (A->slab.high ? A->slab.layer : 0); }

static kry_status create_buffers(kryi_stencil *A, bool coefficient)
{
    kry_status st = KRY_OK;
    int64_t faces = A->faces_given ? A->n : cells_of(A);

    for (int a = 0; a < A->axes; a++) TRY(create_buffer(A, faces, &A->face[a]));
    if (A->slab.low) TRY(create_buffer(A, A->slab.layer, &A->slab.face_below));
    if (coefficient) TRY(create_buffer(A, cells_of(A), &A->coefficient));
done:
    return st;
}

/* Numbers of the operator's type in a buffer, as a vector. */
static kry_vec view(const kryi_stencil *A, cl_mem buffer, int64_t n)
{
    return (kry_vec){ .dev = A->dev, .type = A->type, .n = n, .k = 1, .ld = n, .buffer = buffer };
}

kry_status kryi_stencil_share_faces(kryi_stencil *A)
{
    kry_status st = KRY_OK;
    const kryi_slab *s = &A->slab;
    size_t size = kry_type_size(A->type);
    const kry_vec faces = view(A, A->face[A->axes - 1], A->n);

    if (!A->face[0] || !s->halo) return KRY_OK;
    TRY(kryi_halo_begin(s->halo, &faces));
    TRY(kryi_halo_end(s->halo));
    if (s->low)
        TRY(kryi_buffer_copy(A->dev, s->numbers, (size_t)s->at_low * size, s->face_below, 0,
                             (size_t)s->layer * size));
done:
    return st;
}

kry_status kryi_stencil_create_faces(kryi_stencil *A, const kry_stencil_params *p)
{
    kry_status st = KRY_OK;

    if (!p->coefficient && !p->face[0]) return KRY_OK;
    A->faces_given = p->face[0] != NULL;
    TRY(create_buffers(A, p->coefficient != NULL));
    if (p->coefficient) TRY(take_cells(A, "kry_stencil_create", p->coefficient));
    if (A->faces_given) TRY(take_faces(A, "kry_stencil_create", p->face));
    TRY(kryi_stencil_share_faces(A));
done:
    return st;
}

kry_status kryi_stencil_read(const kryi_stencil *A, cl_mem buffer, int64_t count, double *numbers)
{
    const kry_vec v = view(A, buffer, count);
    return kryi_vec_read_doubles(&v, numbers);
}

/* Round the numbers on the device; *rounded: all of them fit. */
static kry_status round_numbers(const kryi_stencil *from, cl_mem source, int64_t count,
                                double factor, cl_mem to, bool *rounded)
{
    kry_status st = KRY_OK;
    const kry_vec v = view(from, source, count);
    double largest, smallest;

    TRY(kryi_vec_range(&v, &largest, &smallest));
    *rounded = isfinite(factor * largest) && factor * largest < FLT_MAX / 2 &&
               factor * smallest > 2 * (double)FLT_MIN;
    if (*rounded) TRY(kryi_vec_round(factor, &v, to));
done:
    return st;
}

/* Copy an array in the other type, by way of the host where that is to say what does not fit. */
static kry_status copy_numbers(kryi_stencil *A, const char *what, const kryi_stencil *from,
                               cl_mem source, int64_t count, double factor, cl_mem to)
{
    kry_status st = KRY_OK;
    size_t size = kry_type_size(A->type);
    double *given = NULL;
    void *taken = NULL;

    bool rounded = false;

    if (!source) return KRY_OK;
    if (A->dev == from->dev && from->type == A->type && factor == 1)
        return kryi_buffer_copy(A->dev, source, 0, to, 0, (size_t)count * size);
    if (A->dev == from->dev && from->type == KRY_F64 && A->type == KRY_F32)
        TRY(round_numbers(from, source, count, factor, to, &rounded));
    if (rounded) goto done;
    TRY(kryi_alloc((size_t)count, sizeof *given, &given));
    TRY(kryi_alloc((size_t)count, size, &taken));
    TRY(kryi_stencil_read(from, source, count, given));
    TRY(kryi_numbers_convert(what, KRY_F64, given, count, factor, A->type, taken));
    TRY(kryi_buffer_write(A->dev, to, 0, (size_t)count * size, taken));
done:
    free(taken);
    free(given);
    return st;
}

/* Copy what the caller gave, rounded: cells if faces are made of them, else faces. */
kry_status kryi_stencil_copy_faces(kryi_stencil *A, const kryi_stencil *from, double factor)
{
    kry_status st = KRY_OK;

    if (!from->face[0]) return KRY_OK;
    A->faces_given = from->faces_given;
    TRY(create_buffers(A, from->coefficient != NULL));
    TRY(copy_numbers(A, "coefficient", from, from->coefficient, cells_of(A), factor,
                     A->coefficient));
    if (!A->faces_given) return make_faces(A);
    for (int a = 0; a < A->axes; a++)
        TRY(copy_numbers(A, "face", from, from->face[a], A->n, factor, A->face[a]));
done:
    return st;
}

enum { NUMBERS = 5 };

/* The buffers of coefficients and faces. */
static void numbers_of(kryi_stencil *A, cl_mem *number[NUMBERS])
{
    for (int a = 0; a < 3; a++) number[a] = &A->face[a];
    number[3] = &A->coefficient;
    number[4] = &A->slab.face_below;
}

void kryi_stencil_release_numbers(kryi_stencil *A)
{
    cl_mem *number[NUMBERS];
    numbers_of(A, number);
    for (int i = 0; i < NUMBERS; i++) kryi_buffer_release(A->dev, number[i]);
}

/* An update writes to new buffers, so that a failure leaves the old numbers. */
kry_status kryi_stencil_update_faces(kryi_stencil *A, const double *numbers)
{
    kry_status st = KRY_OK;
    int64_t n = A->slab.layer * layers_given(A);
    const double *const face[3] = { numbers, numbers + n, numbers + 2 * n };
    kryi_stencil fresh = *A;
    cl_mem *old[NUMBERS], *now[NUMBERS];

    numbers_of(A, old);
    numbers_of(&fresh, now);
    for (int i = 0; i < NUMBERS; i++) *now[i] = NULL;
    TRY(create_buffers(&fresh, !A->faces_given));
    TRY(A->faces_given ? take_faces(&fresh, "kry_op_update", face)
                       : take_cells(&fresh, "kry_op_update", numbers));
    TRY(kryi_stencil_share_faces(&fresh));
    TRY(kry_device_finish(A->dev));
    TRY(kryi_layout_join(&A->dev->layout, KRY_OK)); /* on all parts */
    for (int i = 0; i < NUMBERS; i++) {
        cl_mem kept = *old[i];
        if (*now[i]) *old[i] = *now[i], *now[i] = kept;
    }
done:
    kryi_stencil_release_numbers(&fresh);
    return st;
}
