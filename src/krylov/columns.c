/* columns.c - what solves with several columns at once work with, made when it is first asked for. */
#include "krylov/method.h"
#include "operator/op_parts.h"
#include <stdlib.h>

/* A solver for one of the columns, which shares operators and settings with K. */
static kry_status make_column(const kry_krylov *K, const kry_vec *R, int j, kry_krylov **column)
{
    kry_status st = KRY_OK;
    const kry_op *A = K->A;
    kry_krylov *one = NULL;

    TRY(kry_alloc(1, sizeof *one, &one));
    *column = one;
    one->method = K->method;
    one->A = kry_op_retain(A);
    one->M = kry_op_retain(K->M);
    one->product = kry_op_retain(K->product);
    one->deflation = kry_op_retain(K->deflation);
    one->first = kry_op_retain(K->first);
    one->suit = K->suit;
    one->measured = -1;
    one->stopping = K->stopping;
    one->stopping.history = NULL, one->stopping.history_capacity = 0;
    TRY(kry_system_create(A, K->method->projects, &one->system));
    TRY(kry_vec_view(R, j, &one->r));
    TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &one->best));
    TRY(kry_stopping_reserve(&one->stopping, K->stopping.criteria.max_iter));
done:
    return st;
}

void kry_columns_release(kry_krylov *K)
{
    kry_columns *C = K->columns;

    K->columns = NULL;
    if (!C) return;
    if (C->self) K->method->destroy(C->self);
    for (int j = 0; C->column && j < C->count; j++) kry_krylov_destroy(C->column[j]);
    free(C->column);
    kry_vec_release(&C->R);
    free(C);
}

static kry_status make(kry_krylov *K, int count)
{
    kry_status st = KRY_OK;
    kry_columns *C;

    TRY(kry_alloc(1, sizeof *C, &C));
    K->columns = C;
    C->count = count;
    TRY(K->method->create_columns(K, count, &C->self));
    TRY(kry_alloc((size_t)count, sizeof *C->column, &C->column));
    TRY(kry_vec_create_columns(K->A->dev, K->A->shape.type, K->A->shape.rows, count, &C->R));
    for (int j = 0; j < count; j++) TRY(make_column(K, C->R, j, &C->column[j]));
done:
    if (st < 0) kry_columns_release(K);
    return st;
}

/* Whether the rounds of several columns may be shared: what is in the way has numbers of one solve. */
static bool may_share(const kry_krylov *K)
{
    const kry_device *dev = K->A->dev;

    return K->method->create_columns && !K->guess && !K->system.unpinned &&
           K->stopping.criteria.test != KRY_STOP_BACKWARD && kry_layout_size(&dev->layout) == 1 &&
           !dev->layout.reproducible;
}

kry_status kry_columns_prepare(kry_krylov *K, int count)
{
    kry_status st = KRY_OK;

    if (K->columns && K->columns->count != count) kry_columns_release(K);
    if (!may_share(K))
        kry_columns_release(K);
    else if (!K->columns)
        st = make(K, count);
    if (st == KRY_ERR_UNSUPPORTED) return KRY_OK;
    TRY(st);
    for (int j = 0; K->columns && j < count; j++) {
        kry_krylov *one = K->columns->column[j];
        one->suit = K->suit, one->stopping.criteria = K->stopping.criteria;
        TRY(kry_stopping_reserve(&one->stopping, K->stopping.criteria.max_iter));
    }
done:
    return st;
}
