/* options.c - what the words of an option string become: preconditioner, deflation, method. */
#include "krylov/options.h"
#include "krylov/auto_precond.h"
#include "krylov/method.h"
#include <kry/deflation.h>
#include <kry/multigrid.h>
#include <kry/precond.h>
#include <stdio.h>
#include <string.h>

bool kryi_options_deflate(const kryi_options *o)
{
    return o->mixed.deflation || (o->deflation[0] && strcmp(o->deflation, "none"));
}

kry_status kryi_options_deflation(const kryi_options *o, char *room, size_t size,
                                  kry_deflation_params *params)
{
    *params = *KRY_DEFLATION(.stripes = 0);
    return kry_deflation_parse(o->deflation, room, size, params);
}

/* D from its word; NULL for none. */
static kry_status make_deflation(const kry_op *A, const kryi_options *o, kry_op **D)
{
    kry_status st = KRY_OK;
    kry_deflation_params params;
    char room[sizeof o->deflation];

    *D = NULL;
    if (o->mixed.deflation) return o->mixed.deflation(o->mixed.make_user, A, D);
    if (!kryi_options_deflate(o)) return KRY_OK;
    TRY(kryi_options_deflation(o, room, sizeof room, &params));
    TRY(o->subdomains ? kryi_deflation_create_with(A, &params, o->subdomains, D)
                      : kry_deflation_create(A, &params, D));
done:
    return st;
}

/* Multigrid leaves little for a second level to do. */
const char *kry_precond_default(const kry_op *A, bool alone)
{
    return alone && kry_mg_takes(A) ? "mg" : "jacobi";
}

/* Columns are scaled by default where A x = b is to be solved. Of a rectangular A that would be another x than
 * the shortest one. */
static bool scales_columns(const kry_op *A, const kryi_options *o)
{
    return (o->method == KRY_METHOD_LSQR || o->method == KRY_METHOD_LSMR) &&
           A->shape.rows == A->shape.cols;
}

static const char *precond_of(const kry_op *A, const kryi_options *o)
{
    const bool alone = !kryi_options_deflate(o);

    if (!strcmp(o->precond, "auto") && !alone) return "jacobi";
    if (o->precond[0]) return o->precond;
    if (o->method == KRY_METHOD_MG || o->method == KRY_METHOD_FMG)
        return kry_mg_takes(A) ? "mg" : "amg";
    if (scales_columns(A, o)) return "columns";
    return o->method == KRY_METHOD_PCG ? kry_precond_default(A, alone) : "none";
}

/* Methods that hand M its own results, or want the error of discretisation, ask for more digits than a cycle in single has. */
static bool takes_single(const kryi_options *o)
{
    return o->method == KRY_METHOD_PCG || o->method == KRY_METHOD_MG ||
           o->method == KRY_METHOD_RICHARDSON || o->method == KRY_METHOD_FGMRES;
}

/* M is made from A, for it may read entries or want a grid. Where nobody asked for multigrid, and it cannot be
 * made in these numbers, it is Jacobi's; where nobody asked for columns to be scaled, and they cannot be read, none. */
static kry_status make_precond(const kry_op *A, const kryi_options *o, kry_op **M)
{
    const char *word = precond_of(A, o);

    if (o->mixed.precond) return o->mixed.precond(o->mixed.make_user, A, M);
    kry_status st = kryi_precond_create(A, word, takes_single(o), M);
    if (st == KRY_ERR_ARGUMENT && !o->precond[0] && o->method == KRY_METHOD_PCG &&
        strcmp(word, "jacobi"))
        st = kry_precond_create(A, "jacobi", M);
    const bool cannot = st == KRY_ERR_UNSUPPORTED || st == KRY_ERR_SINGULAR;
    if (cannot && !o->precond[0] && scales_columns(A, o))
        return KRY_OK; /* without a preconditioner */
    return st;
}

static kry_status make_krylov(const kry_op *A, const kryi_options *o, kry_op **solver)
{
    kry_status st = KRY_OK;
    kry_op *M = NULL, *D = NULL;

    TRY(make_precond(A, o, &M));
    TRY(make_deflation(A, o, &D));
    kry_pcg_params p = o->pcg;
    p.struct_size = sizeof p, p.precond = M, p.deflation = D;
    p.flexible = M && M->shape.traits & KRY_VARYING ? KRY_POLAK_RIBIERE : KRY_RIGID;
    TRY(kryi_method_create(kryi_method_number(o->method), A, &p, o->width, solver));
done:
    kry_op_release(&D);
    kry_op_release(&M);
    return st;
}

static kry_status make_relaxation(const kry_op *A, const kryi_options *o, kry_op **solver)
{
    kry_relaxation_method method = o->method == KRY_METHOD_SOR ? KRY_SOR : KRY_JACOBI_ITERATION;

    return kry_relaxation_create(A,
                                 KRY_RELAXATION(.method = method, .omega = o->mixed.omega,
                                                .stop = o->pcg.stop, .monitor = o->pcg.monitor,
                                                .monitor_user = o->pcg.monitor_user),
                                 solver);
}

bool kryi_options_find_null(const kryi_options *o)
{
    return o->null_space != KRY_NULL_SPACE_NONE && !kryi_options_relax(o);
}

kry_status kryi_options_check(const kryi_options *o)
{
    kry_status st = KRY_OK;
    bool relax = kryi_options_relax(o);
    const char *stray =
        kryi_options_stray(o, KRY_OF_MIXED | (relax ? KRY_OF_RELAXATION : KRY_OF_KRYLOV));

    CHECK(!relax || !o->width, KRY_ERR_PARSE, "kry_solver_create: a relaxation has no number");
    CHECK(!stray && (relax || o->mixed.omega == 0), KRY_ERR_PARSE, "kry_solver_create: %s no %s",
          relax ? "a relaxation takes" : "conjugate gradients take", stray ? stray : "omega");
done:
    return st;
}

kry_status kryi_options_solver(const kry_op *A, const kryi_options *o, kry_op **solver)
{
    kry_status st = KRY_OK;

    TRY(kryi_options_check(o));
    TRY(kryi_options_relax(o) ? make_relaxation(A, o, solver) : make_krylov(A, o, solver));
done:
    return st;
}
