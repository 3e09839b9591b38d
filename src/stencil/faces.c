/*
 * faces.c - coefficients of cells and of faces, from the host to the device.
 * Kernel: stencil_faces in cl/stencil.cl.
 */
#include "stencil.h"
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

/* Faces from the coefficients that are on the device. */
static kry_status make_faces(kry_stencil *A)
{
    kry_scalar weight[3];
    cl_int size[3];
    for (int a = 0; a < 3; a++) {
        weight[a] = kry_scalar_of(A->dev, A->weight[a]);
        size[a] = (cl_int)A->size[a];
    }
    const kry_arg args[] = { ARG(size[0]),
                             ARG(size[1]),
                             ARG(size[2]),
                             ARG_ACC(A->dev, weight[0]),
                             ARG_ACC(A->dev, weight[1]),
                             ARG_ACC(A->dev, weight[2]),
                             ARG(A->coefficient),
                             ARG(A->face[0]),
                             ARG(A->face[1]),
                             ARG(A->face[A->axes == 3 ? 2 : 0]) };
    return kry_launch(A->dev, A->faces, kry_groups_for(A->dev, A->type, A->n), args, COUNT(args));
}

static kry_status upload(const kry_stencil *A, const void *host, cl_mem buffer)
{
    kry_status st = KRY_OK;
    size_t bytes = (size_t)A->n * kry_type_size(A->type);
    TRY_CL(clEnqueueWriteBuffer(A->dev->queue, buffer, CL_TRUE, 0, bytes, host, 0, NULL, NULL));
done:
    return st;
}

/* Coefficients in A's type. */
static kry_status round_cells(const kry_stencil *A, const char *who, const double *k, void *host)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0; i < A->n; i++) {
        kry_number_put(A->type, host, i, k[i]);
        double v = kry_number_at(A->type, host, i);
        CHECK(v > 0 && isfinite(v), KRY_ERR_ARGUMENT,
              "%s: coefficient %lld is %g; it must be positive and finite", who, (long long)i,
              k[i]);
    }
done:
    return st;
}

/* Coefficients to the device. Refused, nothing has changed. */
static kry_status take_cells(kry_stencil *A, const char *who, const double *k)
{
    kry_status st = KRY_OK;
    void *host = NULL;

    TRY(kry_alloc((size_t)A->n, kry_type_size(A->type), &host));
    TRY(round_cells(A, who, k, host));
    TRY(upload(A, host, A->coefficient));
done:
    free(host);
    return st;
}

/* ---- of faces ------------------------------------------------------------------------------- */

/* The weights of an axis' faces as the device will have them; 0 where a Neumann side is. */
static kry_status weigh_faces(const kry_stencil *A, const char *who, int axis, const double *k,
                              void *host)
{
    kry_status st = KRY_OK;
    int64_t stride = axis == 0 ? 1 : axis == 1 ? A->size[0] : A->size[0] * A->size[1];
    int64_t last = A->high[axis] == KRY_NEUMANN ? A->size[axis] - 1 : -1, at = 0;

    for (int64_t row = 0; row < A->n; row += stride, at = at + 1 < A->size[axis] ? at + 1 : 0)
        for (int64_t i = row; i < row + stride; i++) {
            bool unused = at == last;
            kry_number_put(A->type, host, i, unused ? 0 : A->weight[axis] * k[i]);
            double v = kry_number_at(A->type, host, i);
            CHECK(unused || (v > 0 && isfinite(v)), KRY_ERR_ARGUMENT,
                  "%s: face %lld along %c is %g; it must be positive and finite", who, (long long)i,
                  axis_name[axis], k[i]);
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
    if (p->coefficient) TRY(round_cells(A, who, p->coefficient, host));
    for (int a = 0; a < A->axes && p->face[0]; a++) TRY(weigh_faces(A, who, a, p->face[a], host));
done:
    free(host);
    return st;
}

/* Faces to the device. Refused, nothing has changed. */
static kry_status take_faces(kry_stencil *A, const char *who, const double *const face[3])
{
    kry_status st = KRY_OK;
    void *host = NULL;

    TRY(kry_alloc((size_t)A->n, kry_type_size(A->type), &host));
    for (int a = 0; a < A->axes; a++) TRY(weigh_faces(A, who, a, face[a], host));
    for (int a = 0; a < A->axes; a++) {
        TRY(weigh_faces(A, who, a, face[a], host));
        TRY(upload(A, host, A->face[a]));
    }
done:
    free(host);
    return st;
}

/* ---- both ----------------------------------------------------------------------------------- */

kry_status kry_stencil_create_faces(kry_stencil *A, const kry_stencil_params *p)
{
    kry_status st = KRY_OK;
    size_t bytes = (size_t)A->n * kry_type_size(A->type);

    if (!p->coefficient && !p->face[0]) return KRY_OK;
    A->faces_given = p->face[0] != NULL;
    for (int a = 0; a < A->axes; a++) TRY(kry_buffer_create(A->dev, bytes, &A->face[a]));
    if (p->coefficient) {
        TRY(kry_buffer_create(A->dev, bytes, &A->coefficient));
        TRY(take_cells(A, "kry_stencil_create", p->coefficient));
    }
    TRY(A->faces_given ? take_faces(A, "kry_stencil_create", p->face) : make_faces(A));
done:
    return st;
}

/* One array of numbers, by way of the host. */
static kry_status copy_numbers(kry_stencil *A, const char *what, const kry_stencil *from,
                               cl_mem source, double factor, cl_mem *to)
{
    kry_status st = KRY_OK;
    size_t bytes = (size_t)A->n * kry_type_size(from->type);
    void *given = NULL, *taken = NULL;

    TRY(kry_alloc((size_t)A->n, kry_type_size(from->type), &given));
    TRY(kry_alloc((size_t)A->n, kry_type_size(A->type), &taken));
    TRY_CL(clEnqueueReadBuffer(A->dev->queue, source, CL_TRUE, 0, bytes, given, 0, NULL, NULL));
    TRY(kry_numbers_convert("kry_op_twin", what, from->type, given, A->n, factor, A->type, taken));
    if (!*to) TRY(kry_buffer_create(A->dev, (size_t)A->n * kry_type_size(A->type), to));
    TRY(upload(A, taken, *to));
done:
    free(taken);
    free(given);
    return st;
}

/* As what was given is rounded: cells where faces are made of them, else faces. */
kry_status kry_stencil_copy_faces(kry_stencil *A, const kry_stencil *from, double factor)
{
    kry_status st = KRY_OK;

    A->faces_given = from->faces_given;
    if (from->coefficient)
        TRY(copy_numbers(A, "coefficient", from, from->coefficient, factor, &A->coefficient));
    if (!from->face[0]) return KRY_OK;
    for (int a = 0; a < A->axes; a++) {
        size_t bytes = (size_t)A->n * kry_type_size(A->type);
        if (from->faces_given)
            TRY(copy_numbers(A, "face", from, from->face[a], factor, &A->face[a]));
        else if (!A->face[a])
            TRY(kry_buffer_create(A->dev, bytes, &A->face[a]));
    }
    if (!A->faces_given) TRY(make_faces(A));
done:
    return st;
}

kry_status kry_stencil_update_faces(kry_stencil *A, const double *numbers)
{
    kry_status st = KRY_OK;
    const double *const face[3] = { numbers, numbers + A->n, numbers + 2 * A->n };

    if (A->faces_given) {
        TRY(take_faces(A, "kry_op_update", face));
    } else {
        TRY(take_cells(A, "kry_op_update", numbers));
        TRY(make_faces(A));
    }
done:
    return st;
}
