/*
 * basis.c - a basis on the device that stays orthonormal however ill-conditioned what comes to it is.
 *
 *   W := W - Q (Q'B W) - V (V'B W)
 *   G := W'B W,  D G D = U' L U with ones on the diagonal,  W := W D U' L^-1/2      several passes
 *
 * Vectors whose eigenvalue in L is rounding are left out. A pass whose G was near the identity is the last one.
 *
 * Source  A. Stathopoulos, K. Wu, A block orthogonalization procedure with constant synchronization requirements, SIAM J. Sci.
 *         Comput. 23 (2002), 2165-2182; Duersch and others (eigenvalues.h), sections 3 and 4
 */
#include "basis.h"
#include "memory.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

static double unit_roundoff(const kryi_basis *S)
{
    return S->type == KRY_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
}

kry_status kryi_basis_create(const kry_op *A, const kry_op *B, int most, int images, int room,
                             kryi_basis *S)
{
    kry_status st = KRY_OK;
    const kry_op_shape *shape = kry_op_get_shape(A);
    kry_device *dev = kry_op_device(A);
    const size_t square = (size_t)most * (size_t)most;

    *S = (kryi_basis){
        .device = dev, .A = A, .B = B, .type = shape->type, .n = shape->rows, .most = most
    };
    TRY(kry_vec_create(dev, S->type, S->n, most, &S->V));
    TRY(kry_vec_create(dev, S->type, S->n, images, &S->AV));
    S->BV = S->V;
    if (B) TRY(kry_vec_create(dev, S->type, S->n, most, &S->BV));
    TRY(kry_vec_create(dev, S->type, S->n, room, &S->room));
    TRY(kry_vec_create(dev, S->type, most, most, &S->small));
    TRY(kryi_allocate(square, kry_type_size(S->type), &S->numbers));
    TRY(kryi_allocate(square, sizeof *S->gram, &S->gram));
    TRY(kryi_allocate(square, sizeof *S->vectors, &S->vectors));
    TRY(kryi_allocate(square, sizeof *S->by, &S->by));
    TRY(kryi_allocate((size_t)most, sizeof *S->values, &S->values));
    TRY(kryi_allocate(4 * (size_t)most, sizeof *S->lengths, &S->lengths));
done:
    return st;
}

void kryi_basis_release(kryi_basis *S)
{
    if (S->BQ != S->Q) kry_vec_release(&S->BQ);
    if (S->BV != S->V) kry_vec_release(&S->BV);
    kry_vec_release(&S->Q), kry_vec_release(&S->V), kry_vec_release(&S->AV);
    kry_vec_release(&S->room), kry_vec_release(&S->small);
    free(S->numbers), free(S->gram), free(S->vectors), free(S->by), free(S->values),
        free(S->lengths);
}

static kry_status columns_of(const kry_vec *V, int first, int count, kry_vec **view)
{
    return kry_vec_block(V, 0, kry_vec_rows(V), first, count, view);
}

/* ---- small matrices ------------------------------------------------------------------------- */

static double number_at(const kryi_basis *S, int64_t i)
{
    return S->type == KRY_F32 ? ((const float *)S->numbers)[i] : ((const double *)S->numbers)[i];
}

static kry_status gram_of(kryi_basis *S, const kry_vec *X, const kry_vec *Y, double *G)
{
    kry_status st = KRY_OK;
    const int64_t rows = kry_vec_cols(X), cols = kry_vec_cols(Y);
    kry_vec *small = NULL;

    TRY(kry_vec_block(S->small, 0, rows, 0, cols, &small));
    TRY(kry_vec_gemm(true, false, 1, X, Y, 0, small));
    TRY(kry_vec_read(small, S->numbers));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) G[i * cols + j] = number_at(S, j * rows + i);
done:
    kry_vec_release(&small);
    return st;
}

kry_status kryi_basis_gram(kryi_basis *S, const kry_vec *X, int rows, const kry_vec *Y, int first,
                           int cols, double *G)
{
    kry_status st = KRY_OK;
    kry_vec *x = NULL, *y = NULL;

    TRY(columns_of(X, 0, rows, &x));
    TRY(columns_of(Y, first, cols, &y));
    TRY(gram_of(S, x, y, G));
done:
    kry_vec_release(&x), kry_vec_release(&y);
    return st;
}

/* Y := alpha X C + beta Y */
static kry_status add_product(kryi_basis *S, double alpha, const kry_vec *X, const double *C,
                              double beta, kry_vec *Y)
{
    kry_status st = KRY_OK;
    const int64_t rows = kry_vec_cols(X), cols = kry_vec_cols(Y);
    kry_vec *small = NULL;

    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            const double c = C[i * cols + j];
            if (S->type == KRY_F32)
                ((float *)S->numbers)[j * rows + i] = (float)c;
            else
                ((double *)S->numbers)[j * rows + i] = c;
        }
    TRY(kry_vec_block(S->small, 0, rows, 0, cols, &small));
    TRY(kry_vec_write(small, S->numbers));
    TRY(kry_vec_gemm(false, false, alpha, X, small, beta, Y));
done:
    kry_vec_release(&small);
    return st;
}

/* Columns first ... first + cols - 1 of V := columns first ... first + rows - 1 times C */
static kry_status turn(kryi_basis *S, kry_vec *V, int first, int rows, const double *C, int cols)
{
    kry_status st = KRY_OK;
    kry_vec *from = NULL, *to = NULL, *room = NULL;

    TRY(columns_of(V, first, rows, &from));
    TRY(columns_of(V, first, cols, &to));
    TRY(columns_of(S->room, 0, cols, &room));
    TRY(add_product(S, 1, from, C, 0, room));
    TRY(kry_vec_copy(room, to));
done:
    kry_vec_release(&from), kry_vec_release(&to), kry_vec_release(&room);
    return st;
}

kry_status kryi_basis_turn(kryi_basis *S, int rows, const double *C, int cols)
{
    kry_status st = KRY_OK;

    TRY(turn(S, S->V, 0, rows, C, cols));
    if (kry_vec_cols(S->AV) >= rows) TRY(turn(S, S->AV, 0, rows, C, cols));
    if (S->B) TRY(turn(S, S->BV, 0, rows, C, cols));
done:
    return st;
}

kry_status kryi_basis_apply(const kry_op *op, const kry_vec *from, int from_first, kry_vec *to,
                            int to_first, int count)
{
    kry_status st = KRY_OK;
    kry_vec *x = NULL, *y = NULL;

    TRY(columns_of(from, from_first, count, &x));
    TRY(columns_of(to, to_first, count, &y));
    TRY(op ? kry_op_apply(op, 1, x, 0, y) : kry_vec_copy(x, y));
    st = KRY_OK; /* of a solver that did not converge there is an approximation */
done:
    kry_vec_release(&x), kry_vec_release(&y);
    return st;
}

/* ---- orthonormal vectors -------------------------------------------------------------------- */

/* W := W - V (V'B W), and likewise B W, which is W itself without B */
static kry_status project(kryi_basis *S, const kry_vec *V, const kry_vec *BV, kry_vec *W,
                          kry_vec *BW)
{
    kry_status st = KRY_OK;

    TRY(gram_of(S, BV, W, S->gram));
    TRY(add_product(S, -1, V, S->gram, 1, W));
    if (S->B) TRY(add_product(S, -1, BV, S->gram, 1, BW));
done:
    return st;
}

/* S->by := C with C'G C = I for what is more than rounding in G, which stands in S->gram and is overwritten.
 *   count  of columns of G; *kept of C
 *   apart  [out]  the largest entry of G - I */
static kry_status whiten(kryi_basis *S, int count, int *kept, double *apart)
{
    kry_status st = KRY_OK;
    double *G = S->gram, *U = S->vectors, *length = S->lengths;
    const double least = 100 * count * unit_roundoff(S);

    *apart = 0;
    for (int i = 0; i < count * count; i++) {
        CHECK(isfinite(G[i]), KRY_BREAKDOWN, "kry_eigen: a number is not finite");
        *apart = fmax(*apart, fabs(G[i] - (i % (count + 1) == 0)));
    }
    for (int i = 0; i < count; i++) length[i] = G[i * count + i] > 0 ? sqrt(G[i * count + i]) : 0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j <= i; j++) {
            const double both = length[i] * length[j];
            const double mean = (G[i * count + j] + G[j * count + i]) / 2;
            G[i * count + j] = G[j * count + i] = both > 0 ? mean / both : 0;
        }
    TRY(kry_small_eigen(count, G, U, S->values, S->lengths + S->most));
    *kept = 0;
    for (int t = 0; t < count; t++) *kept += S->values[t] > least;
    for (int i = 0; i < count; i++)
        for (int t = 0; t < *kept; t++) {
            const int from = count - *kept + t;
            S->by[i * *kept + t] =
                length[i] > 0 ? U[from * count + i] / sqrt(S->values[from]) / length[i] : 0;
        }
done:
    return st;
}

/* One pass over *count columns of V; *done: it was the last one that is needed. */
static kry_status pass(kryi_basis *S, int first, int *count, bool *done)
{
    enum { NEAR = 4 };
    kry_status st = KRY_OK;
    kry_vec *W = NULL, *BW = NULL, *before = NULL, *B_before = NULL;
    int kept = 0;
    double apart;

    TRY(columns_of(S->V, first, *count, &W));
    TRY(columns_of(S->BV, first, *count, &BW));
    if (S->B) TRY(kry_op_apply(S->B, 1, W, 0, BW));
    if (S->Q) TRY(project(S, S->Q, S->BQ, W, BW));
    if (first > 0) {
        TRY(columns_of(S->V, 0, first, &before));
        TRY(columns_of(S->BV, 0, first, &B_before));
        TRY(project(S, before, B_before, W, BW));
    }
    TRY(gram_of(S, W, BW, S->gram));
    for (int i = 0; i < *count && first == 0; i++)
        CHECK(!(S->gram[i * *count + i] < 0), KRY_BREAKDOWN,
              "kry_eigen: B is not positive definite: x'B x is %g for some x",
              S->gram[i * *count + i]);
    MUST(whiten(S, *count, &kept, &apart));
    if (kept > 0) {
        TRY(turn(S, S->V, first, *count, S->by, kept));
        if (S->B) TRY(turn(S, S->BV, first, *count, S->by, kept));
    }
    *count = kept;
    *done = kept == 0 || apart * NEAR < 1;
done:
    kry_vec_release(&W), kry_vec_release(&BW), kry_vec_release(&before), kry_vec_release(&B_before);
    return st;
}

kry_status kryi_basis_orthonormalise(kryi_basis *S, int first, int *count)
{
    enum { PASSES = 6 };
    kry_status st = KRY_OK;
    bool enough = *count == 0;

    for (int i = 0; i < PASSES && !enough; i++) MUST(pass(S, first, count, &enough));
done:
    return st;
}

/* w := w - V (V'B w), and along += V'B w; along NULL: nobody asks for it */
static kry_status remove_part(kryi_basis *S, const kry_vec *V, const kry_vec *BV, kry_vec *w,
                              double *along)
{
    kry_status st = KRY_OK;

    TRY(gram_of(S, BV, w, S->gram));
    TRY(add_product(S, -1, V, S->gram, 1, w));
    for (int64_t i = 0; i < kry_vec_cols(V) && along; i++) along[i] += S->gram[i];
done:
    return st;
}

/* A pass over columns from ... first - 1; *removed: the square of what it subtracts along them */
static kry_status remove_parts(kryi_basis *S, int from, int first, kry_vec *w, double *along,
                               double *removed)
{
    kry_status st = KRY_OK;
    kry_vec *V = NULL, *BV = NULL;

    TRY(columns_of(S->V, from, first - from, &V));
    TRY(columns_of(S->BV, from, first - from, &BV));
    if (S->Q && from == 0) TRY(remove_part(S, S->Q, S->BQ, w, NULL));
    TRY(remove_part(S, V, BV, w, along + from));
    *removed = 0;
    for (int i = 0; i < first - from; i++) *removed += S->gram[i] * S->gram[i];
done:
    kry_vec_release(&V), kry_vec_release(&BV);
    return st;
}

kry_status kryi_basis_append(kryi_basis *S, int first, int from, double *along, double *length)
{
    enum { PASSES = 4 };
    const double little = 0.25; /* of what is left: then a pass was the last one that is needed */
    kry_status st = KRY_OK;
    kry_vec *w = NULL, *Bw = NULL;
    double square = 0, removed = 1;

    TRY(columns_of(S->V, first, 1, &w));
    TRY(columns_of(S->BV, first, 1, &Bw));
    for (int i = 0; i < first; i++) along[i] = 0;
    TRY(remove_parts(S, from, first, w, along, &removed));
    for (int i = 1; i < PASSES && (i == 1 || removed > little * square); i++) {
        TRY(remove_parts(S, 0, first, w, along, &removed));
        if (S->B) TRY(kry_op_apply(S->B, 1, w, 0, Bw));
        TRY(gram_of(S, w, Bw, &square));
        CHECK(isfinite(square), KRY_BREAKDOWN, "kry_eigen: a number is not finite");
    }
    *length = sqrt(fmax(0, square));
    if (*length > 0) {
        TRY(kry_vec_axpby(1 / *length, w, 0, w));
        if (S->B) TRY(kry_vec_axpby(1 / *length, Bw, 0, Bw));
    }
done:
    kry_vec_release(&w), kry_vec_release(&Bw);
    return st;
}

kry_status kryi_basis_constrain(kryi_basis *S, const kry_vec *Y)
{
    kry_status st = KRY_OK;
    kry_vec *Q = NULL, *BQ = NULL;
    int count = (int)kry_vec_cols(Y);

    TRY(kryi_basis_apply(NULL, Y, 0, S->V, 0, count));
    MUST(kryi_basis_orthonormalise(S, 0, &count));
    if (count == 0) goto done;
    TRY(kry_vec_create(S->device, S->type, S->n, count, &Q));
    TRY(kryi_basis_apply(NULL, S->V, 0, Q, 0, count));
    if (S->B) {
        TRY(kry_vec_create(S->device, S->type, S->n, count, &BQ));
        TRY(kryi_basis_apply(NULL, S->BV, 0, BQ, 0, count));
    }
    S->Q = Q, S->BQ = S->B ? BQ : Q;
    Q = BQ = NULL;
done:
    kry_vec_release(&Q), kry_vec_release(&BQ);
    return st;
}
