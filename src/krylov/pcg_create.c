/* pcg_create.c - conjugate gradients made ready: what is fused, vectors, kernels; and what they move. */
#include "krylov/pcg.h"
#include "multigrid/hierarchy.h"
#include <limits.h>

/* Words that a step moves: r twice and q; for x those of p and twice x, in every second step only if x waits, and then those of
 * the old p, too, unless it is made of others that are at hand. */
static double words_of_step(const kryi_pcg *S)
{
    const bool makes_old = !S->W.K->M || kryi_pcg_diagonal(S->W.K->M);
    if (!S->x_every_second_step) return 6;
    return makes_old ? 4.5 : 5;
}

/* Words per unknown of a step beyond those of bytes_per_step, where x is updated in every second step. */
static double more_words_of_step(const kryi_pcg *S)
{
    return S->x_every_second_step ? words_of_step(S) - 4.5 : 1;
}

/* By the model: the direction with its product, then the step. */
static double pcg_bytes(const void *self)
{
    const kryi_pcg *S = self;
    const kry_op *product = S->W.K->product, *M = S->W.K->M;
    kry_op_info A, info;
    double word = (double)product->shape.rows * (double)kry_type_size(product->shape.type);

    kry_op_describe(product, &A);
    if (A.bytes_per_apply <= 0) return 0;
    double bytes = A.bytes_per_direction + words_of_step(S) * word;
    if (S->repeats)
        bytes = A.bytes_per_direction + A.bytes_per_step + more_words_of_step(S) * word;
    else if (A.bytes_per_direction <= 0 || product->dev->layout.reproducible)
        bytes = A.bytes_per_apply + (product->table->apply_dot ? 9 : 11) * word;
    if (!M) return bytes;
    if (kryi_pcg_diagonal(M)) return bytes + 2 * word;
    kry_op_describe(M, &info);
    if (info.bytes_per_apply <= 0) return 0;
    return bytes + info.bytes_per_apply + (M->table->apply_dots ? 0 : 2 * word);
}

static void pcg_destroy(void *self) { kryi_persistent_release(&((kryi_pcg *)self)->persistent); }

static kry_status allocate(kryi_pcg *S)
{
    kry_status st = KRY_OK;
    kryi_workspace *W = &S->W;
    const kryi_null_space *null = &W->K->residual.null;

    if (!S->repeats) TRY(kryi_workspace_vectors(W, W->columns, VECTORS_AT(&S->q), 1));
    TRY(kryi_workspace_vectors(W, W->columns, VECTORS_AT(&S->p), 1));
    if (S->fuses) TRY(kryi_workspace_vectors(W, W->columns, VECTORS_AT(&S->old), 1));
    if (W->K->M) TRY(kryi_workspace_vectors(W, W->columns, VECTORS_AT(&S->z), 1));
    TRY(kryi_workspace_sums(W, 1, SUMS_AT(&S->pq), 1));
    TRY(kryi_workspace_sums(W, 2, SUMS_AT(&S->rho), 1));
    if (S->flexible == KRY_POLAK_RIBIERE) TRY(kryi_workspace_sums(W, 1, SUMS_AT(&S->zq), 1));
    if (null->A && !null->vectors)
        TRY(kryi_workspace_sums(W, 1, SUMS_AT(&S->drift, &S->next_drift), 2));
done:
    return st;
}

kry_status kryi_pcg_step_kernel(const kryi_pcg *S, bool aligned, kryi_kernel **kernel)
{
    const kry_op *A = S->W.K->product;

    return kryi_kernel_get(A->dev, "pcg", A->shape.type, aligned ? "" : "-DKRY_UNALIGNED",
                           "pcg_step", kernel);
}

/* Nothing of pcg.cl is launched but the stopping test, where a limit or a monitor ends a solve: it is compiled then. An
 * expensive M has it before each end, and a monitor of fixed iterates at each of them. */
static bool is_all_fused(const kryi_pcg *S)
{
    return S->repeats && !S->checks_first && !kryi_stopping_shows_x(&S->W.K->stopping);
}

static kry_status compile(kryi_pcg *S, kry_device *dev, kry_type type)
{
    kry_status st = KRY_OK;
    const bool one = S->W.columns == 1;
    kryi_kernel *found;

    if (one && is_all_fused(S)) goto done;
    TRY(kryi_pcg_step_kernel(S, true, &S->kernel.step));
    /* Found again by the solve, which must not fail for want of them. */
    TRY(kryi_kernel_get(dev, "pcg", type, "", "pcg_direction", &found));
    TRY(kryi_kernel_get(dev, "pcg", type, "", "pcg_check", &found));
    if (!one) TRY(kryi_kernel_get(dev, "pcg", type, "", "pcg_add_lasts", &S->kernel.add_lasts));
    if (S->flexible == KRY_POLAK_RIBIERE)
        TRY(kryi_kernel_get(dev, "pcg", type, "", "pcg_flexible", &S->kernel.correct_beta));
done:
    return st;
}

/* True if applying M is expensive: a solve of its own, or a cycle of multigrid, of which a whole solve takes ten. */
static bool is_expensive(const kry_op *M)
{
    return M && (M->shape.traits & KRY_VARYING || kryi_hierarchy_of(M));
}

/* The passes that A offers. */
static void choose_passes(kryi_pcg *S)
{
    const kry_op *A = S->W.K->product;

    S->fuses = A->fused->apply_direction;
    S->repeats = A->fused->apply_step;
    S->x_every_second_step =
        (S->repeats || (S->fuses && A->dev->info.cpu_kernels)) &&
        !kryi_stopping_shows_x(&S->W.K->stopping); /* a monitor that looks at x finds it complete */
}

static kry_status pcg_create(void *self)
{
    kry_status st = KRY_OK;
    kryi_pcg *S = self;
    const kryi_krylov *K = S->W.K;
    const kry_pcg_params *params = K->params; /* NULL of several columns */
    const kry_op *A = K->product;
    const bool one = S->W.columns == 1;

    if (one) {
        CHECK((unsigned)params->flexible <= KRY_POLAK_RIBIERE, KRY_ERR_ARGUMENT,
              "kry_pcg_create: flexible = %d is none", (int)params->flexible);
        S->flexible = params->flexible;
        S->checks_first = is_expensive(K->first);
        S->W.poll.one_by_one = S->checks_first;
    } else if (A->fused->prepare_columns) {
        TRY(A->fused->prepare_columns(A->self));
    }
    const bool fused =
        one ? !S->flexible && !A->dev->layout.reproducible /* whose sums have their own order */
            : A->fused->prepare_columns != NULL;
    if (fused) choose_passes(S);
    TRY(allocate(S));
    TRY(compile(S, A->dev, A->shape.type));
    if (one && fused && !K->deflation && !K->residual.null.A)
        kryi_persistent_prepare(&S->persistent, A, K->M, params);
done:
    return st;
}

/* Whether columns gain from steps that A does for all at once, which move the same words: by launches, while the vectors of all
 * columns stay in the cache; by coefficients that are read once; by an M. Where the cache holds those of one column, its steps
 * find them there, and columns are faster one after the other. Measured on an
 * H100. */
static bool steps_gain(const kryi_krylov *K, int columns)
{
    enum { VECTORS = 4, CACHE = 350 << 10 }; /* of a step; bytes for each compute unit */
    const kry_op *A = K->product;
    const double word = (double)A->shape.rows * (double)kry_type_size(A->shape.type),
                 cache = (double)CACHE * A->dev->info.compute_units;
    kry_op_info info;

    kry_op_describe(A, &info);
    if (K->M || info.bytes_per_apply > 2 * word) return true;
    return columns * VECTORS * word <= cache || VECTORS * word > 2 * cache;
}

/* Only where products take several columns; not where the first column leaves vectors for the next ones, or for a few
 * columns that a persistent kernel takes one after the other. */
static bool gains(const kryi_krylov *K, int columns)
{
    enum { FEW = 4 };
    const kryi_pcg *one = K->self;
    const kryi_deflation *D = kryi_deflation_of(K->deflation);

    if (D && D->recycle) return false;
    if (one->persistent.R && (columns < FEW || one->persistent.insisted)) return false;
    if (one->flexible || (K->M && K->M->shape.traits & KRY_VARYING)) return false;
    if (K->product->fused->prepare_columns) return steps_gain(K, columns);
    return K->A->table->apply_block != NULL;
}

const kryi_method kryi_pcg_method = {
    .kind = "pcg",
    .who = "kry_pcg_create",
    .deflates = true,
    .flexible = true,
    .by_request = true,
    .projects = true,
    .continues = true,
    .takes = KRY_TAKES_DEFINITE,
    .precond = { "r'Mr", "is not positive: the preconditioner is not positive definite",
                 KRY_INDEFINITE_PRECOND },
    .no_precond = { "r'z",
                    "is not positive, without a preconditioner: the matrix is not positive "
                    "definite, or deflation amplifies rounding",
                    KRY_INDEFINITE_MATRIX },
    .matrix = { "p'Ap",
                "is not positive: the matrix is not positive definite, or too ill-conditioned for "
                "this precision",
                KRY_INDEFINITE_MATRIX },
    .size = sizeof(kryi_pcg),
    .create = pcg_create,
    .cycle = kryi_pcg_cycle,
    .bytes = pcg_bytes,
    .destroy = pcg_destroy,
    .most_columns = INT_MAX,
    .gains = gains,
};

kry_status kry_pcg_create(const kry_op *A, const kry_pcg_params *params, kry_op **solver)
{
    kry_status st = GIVEN(solver);
    return st < 0 ? st : kryi_method_create(&kryi_pcg_method, A, params, 0, solver);
}
