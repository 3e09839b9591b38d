/*
 * operand.c - what commands work on: values on the device, or numbers of the host that go there.
 */
#include "kry_mex.h"

kry_status check_host(const mxArray *a, const char *what)
{
    kry_status st = KRY_OK;

    if (mxGetNumberOfDimensions(a) > 2)
        return fail_as("kry:size", KRY_ERR_SHAPE,
                       "%s: arrays of more than two dimensions are not supported", what);
    if (!mxIsDouble(a) && !mxIsSingle(a))
        return fail_as("kry:type", KRY_ERR_TYPE,
                       "%s: numbers of class %s are not supported, only real double and single: "
                       "convert with double (...)",
                       what, mxGetClassName(a));
    if (mxIsComplex(a))
        return fail_as("kry:type", KRY_ERR_TYPE,
                       "%s: complex numbers are not supported, only real ones", what);
    return st;
}

/* Logical values as 0 and 1; freed when the command ends, as all arrays of a command are. */
static const mxArray *numbers_of_mask(const mxArray *a)
{
    size_t count = mxGetNumberOfElements(a);
    mxArray *numbers = mxCreateNumericArray(mxGetNumberOfDimensions(a), mxGetDimensions(a),
                                            mxDOUBLE_CLASS, mxREAL);

    for (size_t k = 0; k < count; k++) mxGetPr(numbers)[k] = mxGetLogicals(a)[k] ? 1 : 0;
    return numbers;
}

kry_status operand_look(const mxArray *a, operand *o)
{
    kry_status st = KRY_OK;
    value *v;

    *o = (operand){ 0 };
    if (is_handle(a)) {
        TRY(value_find(a, &v));
        CHECK(v->shape.kind <= SPARSE, KRY_ERR_TYPE,
              "kry: a preconditioner or factors are no matrix");
        o->shape = v->shape;
        o->task = kry_task_retain(v->task);
        return KRY_OK;
    }
    if (mxIsLogical(a) && !mxIsSparse(a)) a = numbers_of_mask(a);
    TRY(check_host(a, "gpuMatrix"));
    o->host = a;
    o->shape = (shape){ .kind = mxIsSparse(a) ? SPARSE : DENSE,
                        .type = mxIsSingle(a) ? KRY_F32 : KRY_F64,
                        .rows = (int64_t)mxGetM(a),
                        .cols = (int64_t)mxGetN(a) };
    o->scalar = o->shape.rows == 1 && o->shape.cols == 1;
    if (o->scalar) o->number = mxGetScalar(a);
done:
    return st;
}

kry_status operand_load(operand *o, kry_type type)
{
    kry_status st = KRY_OK;
    kry_task *made = NULL;

    if (o->host) {
        st = o->shape.kind == SPARSE ? sparse_write(o->host, type, &o->shape, &made)
                                     : dense_write(o->host, type, &made);
        if (st < 0) return st;
        o->host = NULL;
    } else if (o->shape.type != type) {
        CHECK(o->shape.kind == DENSE, KRY_ERR_TYPE,
              "kry: a sparse matrix in %s does not go with numbers in %s: convert it first",
              kry_type_name(o->shape.type), kry_type_name(type));
        TRY(elements_convert(o->task, &o->shape, type, &made));
    } else {
        return KRY_OK;
    }
    kry_task_release(&o->task);
    o->task = made;
    o->shape.type = type;
done:
    return st;
}

void operand_drop(operand *o) { kry_task_release(&o->task); }

kry_type type_of_both(const operand *a, const operand *b)
{
    return a->shape.type == KRY_F32 || b->shape.type == KRY_F32 ? KRY_F32 : KRY_F64;
}
