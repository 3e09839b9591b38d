/*
 * faces.c - coefficients of cells and of faces, from the host to the device.
 * Kernel: stencil_faces in cl/stencil.cl.
 */
#include "grid/stencil.h"
#include "operator/op.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>

static const char axis_name[] = "xyz";

static bool gives_values(kry_side side)
{
    return side == KRY_DIRICHLET || side == KRY_DIRICHLET_FACE;
}

kry_status kry_stencil_check_faces(const kry_stencil_params *p)
{
    kry_status st = KRY_OK;
    int axes = p->size[2] ? 3 : 2;

    for (int a = 0; a < 3; a++) {
        bool wanted = p->face[0] && a < axes;
        CHECK(!p->face[a] == !wanted, KRY_ERR_ARGUMENT,
              "kry_stencil_create: faces along %c are %s; faces are given for all %d axes or none",
              axis_name[a], wanted ? "missing" : "given", axes);
        CHECK(!wanted || p->coefficient || !gives_values(p->low[a]), KRY_ERR_ARGUMENT,
              "kry_stencil_create: the low side of %c has given values, which need coefficients "
              "beside the faces",
              axis_name[a]);
    }
done:
    return st;
}

/* ---- of cells ------------------------------------------------------------------------------- */

/* Compute the faces of `layers` layers from the coefficients of their cells. */
static kry_status launch_faces(kry_stencil *A, int64_t layers, cl_mem cells, cl_mem const face[3])
{
    kry_scalar weight[3];
    cl_int size[3];
    for (int a = 0; a < 3; a++) {
        weight[a] = kry_scalar_of(A->dev, A->weight[a]);
        size[a] = (cl_int)(a == A->axes - 1 ? layers : A->size[a]);
    }
    const kry_arg args[] = { ARG(size[0]),
                             ARG(size[1]),
                             ARG(size[2]),
                             ARG_ACC(A->dev, weight[0]),
                             ARG_ACC(A->dev, weight[1]),
                             ARG_ACC(A->dev, weight[2]),
                             ARG(cells),
                             ARG(face[0]),
                             ARG(face[1]),
                             ARG(face[A->axes == 3 ? 2 : 0]) };
    return kry_launch(A->dev, A->faces, kry_groups_for(A->dev, A->type, A->slab.layer * layers),
                      args, COUNT(args));
}

static kry_status upload(const kry_stencil *A, const void *host, int64_t first, int64_t count,
                         cl_mem buffer)
{
    size_t size = kry_type_size(A->type);
    return kry_buffer_write(A->dev, buffer, 0, (size_t)count * size,
                            (const char *)host + (size_t)first * size);
}

/* Compute the faces between a slab's first layer and the layer below from the cells of both. */
static kry_status make_faces_below(kry_stencil *A)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;
    size_t bytes = (size_t)A->slab.layer * kry_type_size(A->type);
    cl_mem cells = NULL, face[3] = { NULL };

    TRY(kry_buffer_create(dev, 2 * bytes, &cells));
    for (int a = 0; a < A->axes; a++) TRY(kry_buffer_create(dev, 2 * bytes, &face[a]));
    TRY(kry_buffer_copy(dev, A->slab.cells_below, 0, cells, 0, bytes));
    TRY(kry_buffer_copy(dev, A->coefficient, 0, cells, bytes, bytes));
    TRY(launch_faces(A, 2, cells, face));
    TRY(kry_buffer_copy(dev, face[A->axes - 1], 0, A->slab.face_below, 0, bytes));
    TRY(kry_device_finish(dev));
done:
    for (int a = 0; a < 3; a++) kry_buffer_release(dev, &face[a]);
    kry_buffer_release(dev, &cells);
    return st;
}

/* Compute all faces from the coefficients on the device. */
static kry_status make_faces(kry_stencil *A)
{
    kry_status st = KRY_OK;
    TRY(launch_faces(A, A->slab.count + A->slab.high, A->coefficient, A->face));
    if (A->slab.low) TRY(make_faces_below(A));
done:
    return st;
}

/* Convert the coefficients of `layers` layers, from layer -below of the slab on, to the operator's
 * type. k: of the whole grid. */
static kry_status convert_cells(const kry_stencil *A, const char *who, const double *k,
                                int64_t below, int64_t layers, void *host)
{
    kry_status st = KRY_OK;
    const kry_slab *s = &A->slab;

    for (int64_t l = 0; l < layers; l++) {
        int64_t first = (s->first - below + l + s->all) % s->all * s->layer;
        for (int64_t i = 0; i < s->layer; i++) {
            kry_number_put(A->type, host, l * s->layer + i, k[first + i]);
            double v = kry_number_at(A->type, host, l * s->layer + i);
            CHECK(v > 0 && isfinite(v), KRY_ERR_ARGUMENT,
                  "%s: coefficient %lld is %g; it must be positive and finite", who,
                  (long long)(first + i), k[first + i]);
        }
    }
done:
    return st;
}

/* Write the coefficients to the device, and compute faces from them if none are given. If a part
 * refuses them, nothing has changed on any part. */
static kry_status take_cells(kry_stencil *A, const char *who, const double *k)
{
    kry_status st = KRY_OK;
    const kry_slab *s = &A->slab;
    int64_t below = s->low, layers = below + s->count + s->high;
    void *host = NULL;

    TRY(kry_alloc((size_t)(s->layer * layers), kry_type_size(A->type), &host));
    TRY(convert_cells(A, who, k, below, layers, host));
    TRY(kry_layout_join(&A->dev->layout, KRY_OK));
    TRY(upload(A, host, below * s->layer, (layers - below) * s->layer, A->coefficient));
    if (s->low) TRY(upload(A, host, 0, s->layer, s->cells_below));
    if (!A->faces_given) TRY(make_faces(A));
done:
    free(host);
    return st;
}

/* ---- of faces ------------------------------------------------------------------------------- */

/* Convert the weights of an axis' faces, from layer `first` of the whole grid on, to the operator's
 * type; 0 on Neumann sides. */
static kry_status weigh_faces(const kry_stencil *A, const char *who, int axis, const double *k,
                              int64_t first, int64_t layers, void *host)
{
    kry_status st = KRY_OK;
    int64_t stride = axis == 0 ? 1 : axis == 1 ? A->size[0] : A->size[0] * A->size[1];
    int64_t size = kry_stencil_size_of_all(A, axis), begin = first * A->slab.layer;
    int64_t last = A->high[axis] == KRY_NEUMANN ? size - 1 : -1, at = begin / stride % size;

    assert(k);
    for (int64_t row = begin; row < begin + layers * A->slab.layer; row += stride) {
        bool unused = at == last;
        for (int64_t i = row; i < row + stride; i++) {
            kry_number_put(A->type, host, i - begin, unused ? 0 : A->weight[axis] * k[i]);
            double v = kry_number_at(A->type, host, i - begin);
            CHECK(unused || (v > 0 && isfinite(v)), KRY_ERR_ARGUMENT,
                  "%s: face %lld along %c is %g; it must be positive and finite", who, (long long)i,
                  axis_name[axis], k[i]);
        }
        at = at + 1 < size ? at + 1 : 0;
    }
done:
    return st;
}

kry_status kry_stencil_check_numbers(const kry_stencil *A, const char *who,
                                     const kry_stencil_params *p)
{
    kry_status st = KRY_OK;
    void *host = NULL;

    TRY(kry_alloc((size_t)A->n, kry_type_size(A->type), &host));
    if (p->coefficient) TRY(convert_cells(A, who, p->coefficient, 0, A->slab.count, host));
    for (int a = 0; a < A->axes && p->face[0]; a++)
        TRY(weigh_faces(A, who, a, p->face[a], A->slab.first, A->slab.count, host));
done:
    free(host);
    return st;
}

/* Write the faces to the device. If a part refuses them, nothing has changed on any part. */
static kry_status take_faces(kry_stencil *A, const char *who, const double *const face[3])
{
    kry_status st = KRY_OK;
    const kry_slab *s = &A->slab;
    int last = A->axes - 1;
    int64_t below = (s->first + s->all - 1) % s->all;
    void *host = NULL;

    assert(A->axes >= 1 && A->axes <= 3);
    TRY(kry_alloc((size_t)A->n, kry_type_size(A->type), &host));
    for (int a = 0; a < A->axes; a++)
        TRY(weigh_faces(A, who, a, face[a], s->first, s->count, host));
    TRY(kry_layout_join(&A->dev->layout, KRY_OK));
    for (int a = 0; a < A->axes; a++) {
        TRY(weigh_faces(A, who, a, face[a], s->first, s->count, host));
        TRY(upload(A, host, 0, A->n, A->face[a]));
    }
    if (!s->low) goto done;
    TRY(weigh_faces(A, who, last, face[last], below, 1, host));
    TRY(upload(A, host, 0, s->layer, s->face_below));
done:
    free(host);
    return st;
}

/* ---- both ----------------------------------------------------------------------------------- */

static kry_status create_buffer(kry_stencil *A, int64_t count, cl_mem *buffer)
{
    if (*buffer) return KRY_OK;
    return kry_buffer_create(A->dev, (size_t)count * kry_type_size(A->type), buffer);
}

/* How many cells are here and in the layer above. */
static int64_t cells_of(const kry_stencil *A) { return A->n + (A->slab.high ? A->slab.layer : 0); }

static kry_status create_buffers(kry_stencil *A, bool coefficient)
{
    kry_status st = KRY_OK;
    kry_slab *s = &A->slab;
    int64_t faces = A->faces_given ? A->n : cells_of(A);

    for (int a = 0; a < A->axes; a++) TRY(create_buffer(A, faces, &A->face[a]));
    if (s->low) TRY(create_buffer(A, s->layer, &s->face_below));
    if (coefficient) TRY(create_buffer(A, cells_of(A), &A->coefficient));
    if (coefficient && s->low) TRY(create_buffer(A, s->layer, &s->cells_below));
done:
    return st;
}

kry_status kry_stencil_create_faces(kry_stencil *A, const kry_stencil_params *p)
{
    kry_status st = KRY_OK;

    if (!p->coefficient && !p->face[0]) return KRY_OK;
    A->faces_given = p->face[0] != NULL;
    TRY(create_buffers(A, p->coefficient != NULL));
    if (p->coefficient) TRY(take_cells(A, "kry_stencil_create", p->coefficient));
    if (A->faces_given) TRY(take_faces(A, "kry_stencil_create", p->face));
done:
    return st;
}

/* Copy an array in the other type, by way of the host. */
static kry_status copy_numbers(kry_stencil *A, const char *what, const kry_stencil *from,
                               cl_mem source, int64_t count, double factor, cl_mem to)
{
    kry_status st = KRY_OK;
    size_t bytes = (size_t)count * kry_type_size(from->type);
    void *given = NULL, *taken = NULL;

    if (!source) return KRY_OK;
    TRY(kry_alloc((size_t)count, kry_type_size(from->type), &given));
    TRY(kry_alloc((size_t)count, kry_type_size(A->type), &taken));
    TRY(kry_buffer_read(A->dev, source, 0, bytes, given));
    TRY(kry_numbers_convert("kry_op_twin", what, from->type, given, count, factor, A->type, taken));
    TRY(upload(A, taken, 0, count, to));
done:
    free(taken);
    free(given);
    return st;
}

/* Copy what the caller gave, rounded: cells if faces are made of them, else faces. */
kry_status kry_stencil_copy_faces(kry_stencil *A, const kry_stencil *from, double factor)
{
    kry_status st = KRY_OK;
    const kry_slab *s = &A->slab, *t = &from->slab;

    if (!from->face[0]) return KRY_OK;
    A->faces_given = from->faces_given;
    TRY(create_buffers(A, from->coefficient != NULL));
    TRY(copy_numbers(A, "coefficient", from, from->coefficient, cells_of(A), factor,
                     A->coefficient));
    TRY(copy_numbers(A, "coefficient", from, t->cells_below, s->layer, factor, s->cells_below));
    if (!A->faces_given) return make_faces(A);
    for (int a = 0; a < A->axes; a++)
        TRY(copy_numbers(A, "face", from, from->face[a], A->n, factor, A->face[a]));
    TRY(copy_numbers(A, "face", from, t->face_below, s->layer, factor, s->face_below));
done:
    return st;
}

enum { NUMBERS = 6 };

/* The buffers that hold what the caller gave. */
static void numbers_of(kry_stencil *A, cl_mem *number[NUMBERS])
{
    for (int a = 0; a < 3; a++) number[a] = &A->face[a];
    number[3] = &A->coefficient;
    number[4] = &A->slab.face_below;
    number[5] = &A->slab.cells_below;
}

void kry_stencil_release_numbers(kry_stencil *A)
{
    cl_mem *number[NUMBERS];
    numbers_of(A, number);
    for (int i = 0; i < NUMBERS; i++) kry_buffer_release(A->dev, number[i]);
}

/* An update writes to new buffers, so that a failure leaves the old numbers. */
kry_status kry_stencil_update_faces(kry_stencil *A, const double *numbers)
{
    kry_status st = KRY_OK;
    int64_t n = A->slab.layer * A->slab.all;
    const double *const face[3] = { numbers, numbers + n, numbers + 2 * n };
    kry_stencil fresh = *A;
    cl_mem *old[NUMBERS], *now[NUMBERS];

    numbers_of(A, old);
    numbers_of(&fresh, now);
    for (int i = 0; i < NUMBERS; i++) *now[i] = NULL;
    TRY(create_buffers(&fresh, !A->faces_given));
    TRY(A->faces_given ? take_faces(&fresh, "kry_op_update", face)
                       : take_cells(&fresh, "kry_op_update", numbers));
    TRY(kry_device_finish(A->dev));
    TRY(kry_layout_join(&A->dev->layout, KRY_OK)); /* on all parts */
    for (int i = 0; i < NUMBERS; i++) {
        cl_mem kept = *old[i];
        if (*now[i]) *old[i] = *now[i], *now[i] = kept;
    }
done:
    kry_stencil_release_numbers(&fresh);
    return st;
}
