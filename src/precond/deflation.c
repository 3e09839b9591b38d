/* deflation.c - Q = Z E^-1 Z' as an operator, and the steps that the second level of a preconditioner is
 * made of. */
#include "precond/deflation.h"
#include "operator/op_parts.h"
#include "precond/rows.h"
#include "precond/span.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- steps ----------------------------------------------------------------------------------- */

/* w := Z'r - (AZ)'y; on a part of a team the contribution of its rows */
static kry_status restrict_residual(kryi_deflation *D, const kry_vec *r, const kry_vec *y,
                                    kry_vec *w)
{
    kry_status st = KRY_OK;
    kry_vec t;

    if (y && D->az == KRY_AZ_PRODUCT && !D->AZ_dense) {
        TRY(kryi_vec_take(&D->t, r->k, &t));
        TRY(kry_op_residual(D->A, r, y, &t));
        return kryi_subspace_restrict(&D->Z, &t, w);
    }
    TRY(kryi_subspace_restrict(&D->Z, r, w));
    if (!y) return KRY_OK;
    if (D->AZ_dense) return kryi_dense_restrict(-1, D->AZ_dense, y, 1, w, D->Z.sum);
    TRY(kryi_op_run_apply(D->AZ_t, -1, y, 1, w));
done:
    return st;
}

/* c := E^-1 times the sum of w over all parts, which is what goes from device to device, k numbers of each. Every part solves
 * the same system: nothing is sent back. Collective, waits. */
static kry_status solve_with_parts(kryi_deflation *D, kry_vec *w, kry_vec *c)
{
    kry_status st = KRY_OK;

    for (int64_t j = 0; j < w->k; j++) {
        kry_vec w_j = kryi_vec_column(w, j), c_j = kryi_vec_column(c, j);
        TRY(kryi_vec_read_doubles(&w_j, D->sum));
        TRY(kryi_layout_combine(w->layout, KRY_ADD, D->sum, (size_t)D->Z.k));
        TRY(kryi_coarse_solve_from(D->coarse, D->sum, &w_j, &c_j));
    }
done:
    return st;
}

kry_status kryi_deflation_solve(kryi_deflation *D, const kry_vec *r, const kry_vec *y, kry_vec *c)
{
    kry_status st = KRY_OK;
    kry_vec w;

    TRY(kryi_vec_take(&D->w, r->k, &w));
    TRY(kryi_vec_take(&D->c, r->k, c));
    TRY(restrict_residual(D, r, y, &w));
    TRY(kryi_layout_size(w.layout) == 1 ? kryi_coarse_solve(D->coarse, &w, c)
                                        : solve_with_parts(D, &w, c));
done:
    return st;
}

kry_status kryi_deflation_subtract(kryi_deflation *D, const kry_vec *c, kry_vec *q)
{
    kry_status st = KRY_OK;
    kry_vec t;

    if (D->AZ_dense) return kryi_dense_expand(-1, D->AZ_dense, c, 1, q);
    if (D->AZ) return kryi_op_run_apply(D->AZ, -1, c, 1, q);
    TRY(kryi_vec_take(&D->t, q->k, &t));
    TRY(kryi_subspace_prolong(&D->Z, 1, c, 0, &t));
    TRY(kryi_op_run_apply(D->A, -1, &t, 1, q));
done:
    return st;
}

/* ---- A Z and (A Z)' as operators, or products with A in their place -------------------------- */

/* Only def1 and bnn multiply by A Z. */
static bool multiplies_by_az(const kryi_deflation *D) { return D->variant > KRY_ADEF2; }

static kry_status make_az_by_host(const kryi_deflation *D, kryi_csr *AZ_t, kry_op **op_t,
                                  kry_op **op)
{
    kry_status st = KRY_OK;
    kryi_csr AZ = { 0 };

    TRY(kryi_rows_matrix(D->A, AZ_t, 0, op_t));
    if (!multiplies_by_az(D)) goto done;
    TRY(kryi_csr_transpose(AZ_t, &AZ));
    TRY(kryi_rows_matrix(D->A, &AZ, 0, op));
done:
    kryi_csr_release(&AZ);
    return st;
}

/* Long rows, as those of (AZ)' are, take several work-items each. */
static kry_status make_from_device(const kryi_deflation *D, const kryi_device_csr *C, kry_op **op)
{
    enum { LONG = 64 };
    kry_status st = KRY_OK;
    kryi_device_csr typed = { 0 };

    TRY(kryi_device_csr_convert(C, D->Z.type, &typed));
    if (typed.nnz > LONG * typed.rows)
        TRY(kryi_device_csr_operator(&typed, 0, NULL, op));
    else
        TRY(kryi_sliced_operator(&typed, (kryi_keep){ .type = typed.type }, 0, op));
done:
    kryi_device_csr_release(&typed);
    return st;
}

/* (AZ)' in the type of the subspace; and A Z, where the variant multiplies by it. Waits. */
static kry_status az_make(const kryi_deflation *D, kryi_galerkin *G, kry_op **op_t, kry_op **op)
{
    kry_status st = KRY_OK;

    if (!G->rows.dev) return make_az_by_host(D, &G->AZ_t, op_t, op);
    TRY(make_from_device(D, &G->rows_t, op_t));
    if (multiplies_by_az(D)) TRY(make_from_device(D, &G->rows, op));
done:
    return st;
}

/* Bytes of (AZ)'y beside those of Z'r: by the matrix, or by a residual in place of r. */
static double az_bytes(const kryi_deflation *D)
{
    kry_op_info info;
    double number = (double)kry_type_size(D->Z.type), n = (double)D->Z.n, k = (double)D->Z.k;

    if (D->AZ_dense) return (n * k + n + k) * number;
    kry_op_describe(D->AZ_t ? D->AZ_t : D->A, &info);
    return D->AZ_t ? info.bytes_per_apply : info.bytes_per_apply + n * number;
}

/* Whether to store A Z, if the caller leaves it to kry, which is collective: the matrix takes (row, number) for each entry; a product with A in its
 * place reads two vectors more than Z'r does, and A. */
static kry_status az_choose(const kryi_deflation *D, const kryi_galerkin *G, kry_deflation_az *az)
{
    kry_status st = KRY_OK;
    kry_op_info A;
    double number = (double)kry_type_size(D->Z.type), gain, nnz;

    *az = D->az;
    if (D->az != KRY_AZ_AUTO) return KRY_OK;
    kry_op_describe(D->A, &A);
    nnz = G->AZ ? 0 : (double)kryi_galerkin_nnz(G);
    gain = A.bytes_per_apply + (double)D->Z.n * number - nnz * (4 + 2 * number);
    TRY(kryi_layout_combine(&D->Z.dev->layout, KRY_ADD, &gain, 1));
    *az = A.bytes_per_apply <= 0 || gain >= 0 ? KRY_AZ_STORED : KRY_AZ_PRODUCT;
done:
    return st;
}

/* ---- the operator ---------------------------------------------------------------------------- */

static kry_status deflation_apply(void *self, double alpha, const kry_vec *x, double beta,
                                  kry_vec *y)
{
    kryi_deflation *D = self;
    kry_status st = KRY_OK;
    kry_vec c;

    if (!kryi_deflation_ready(D))
        return beta == 0 ? kry_vec_fill(y, 0) : kry_vec_axpby(0, x, beta, y);
    TRY(kryi_deflation_solve(D, x, NULL, &c));
    TRY(kryi_subspace_prolong(&D->Z, alpha, &c, beta, y));
done:
    return st;
}

kry_status kryi_deflation_start(kryi_deflation *D, kry_vec *x, const kry_vec *r)
{
    return deflation_apply(D, 1, r, 1, x);
}

/* Everything that depends on the values of A. On failure the old objects stay. */
static kry_status make_values(void *self)
{
    kry_status st = KRY_OK;
    kryi_deflation *D = self;
    kryi_galerkin G = { 0 };
    kryi_coarse *coarse = NULL;
    kry_op *AZ = NULL, *AZ_t = NULL;
    kry_deflation_az az;

    if (!kryi_deflation_ready(D)) return KRY_OK;
    TRY(kryi_galerkin_create(D->A, &D->Z, &D->colours, &G));
    const kryi_coarse_how how = { .method = D->method, .singular = G.singular };
    TRY(kryi_coarse_create(D->Z.dev, D->Z.type, &how, &G.E, &coarse));
    TRY(az_choose(D, &G, &az));
    if (!G.AZ && az == KRY_AZ_STORED) TRY(az_make(D, &G, &AZ_t, &AZ));
    kryi_coarse_release(&D->coarse);
    kry_op_release(&D->AZ);
    kry_op_release(&D->AZ_t);
    kry_vec_release(&D->AZ_dense);
    D->az = az, D->coarse = coarse, D->AZ = AZ, D->AZ_t = AZ_t, D->AZ_dense = G.AZ;
    G.AZ = NULL, coarse = NULL, AZ = AZ_t = NULL;
done:
    kryi_coarse_release(&coarse);
    kry_op_release(&AZ);
    kry_op_release(&AZ_t);
    kryi_galerkin_release(&G);
    return st;
}

void kryi_deflation_describe(kryi_deflation *D, kry_deflation_variant variant, kry_op_info *info)
{
    static const char *const variants[] = { "auto", "a-def2", "def1", "bnn" };
    const double kept = D->recycle ? kryi_recycle_bytes(D->recycle) : 0;

    if (D->recycle && !kryi_deflation_ready(D)) {
        snprintf(D->text, sizeof D->text, "%s, up to %d vectors that solves leave, none yet",
                 variants[variant], D->recycle->most);
        info->variant = D->text, info->bytes_stored = kept;
        return;
    }
    kryi_coarse_describe(D->coarse, info);
    snprintf(D->text, sizeof D->text, "%s, %lld vectors%s, az %s, coarse %s", variants[variant],
             (long long)D->Z.k,
             D->fallback  ? " in stripes, for the graph could not be cut"
             : D->recycle ? " of a solve"
                          : "",
             D->az == KRY_AZ_STORED ? "stored" : "by products", info->variant);
    info->variant = D->text;
    info->bytes_stored += kept;
    info->bytes_per_apply +=
        kryi_subspace_restrict_bytes(&D->Z) + kryi_subspace_correct_bytes(&D->Z);
    /* A step of the two-level methods also needs (AZ)'y or AZ c. */
    info->bytes_per_step = info->bytes_per_apply + az_bytes(D);
}

static void deflation_describe(void *self, kry_op_info *info)
{
    kryi_deflation *D = self;
    kryi_deflation_describe(D, D->variant, info);
}

static void deflation_destroy(void *self)
{
    kryi_deflation *D = self;
    if (!D) return;
    kryi_recycle_release(&D->recycle);
    free(D->sum);
    kry_vec_release(&D->t);
    kry_vec_release(&D->c);
    kry_vec_release(&D->w);
    kry_vec_release(&D->AZ_dense);
    kry_op_release(&D->AZ_t);
    kry_op_release(&D->AZ);
    kryi_coarse_release(&D->coarse);
    kryi_colours_release(&D->colours);
    kryi_subspace_release(&D->Z);
    kry_op_release(&D->A);
    free(D);
}

static const kry_op_table deflation_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "deflation",
    .apply = deflation_apply,
    .apply_block = deflation_apply,
    .apply_transpose = deflation_apply,
    .describe = deflation_describe,
    .destroy = deflation_destroy,
};
static const kryi_op_fused deflation_fused = { .renew = make_values };

kryi_deflation *kryi_deflation_of(const kry_op *op)
{
    return op && op->table == &deflation_table ? op->self : NULL;
}

/* ---- making one ------------------------------------------------------------------------------ */

/* A whole number above 0, or one with "+phase" behind. */
static kry_status read_blocks(const char *who, const char *value, void *params)
{
    kry_deflation_params *p = params;
    const char *plus = strchr(value, '+'), *end = value + strlen(value);

    if (plus && !strcmp(plus, "+phase")) end = plus, p->phase = true;
    if (kryi_read_int64(value, end, &p->block) == end && p->block > 0 && p->block <= INT32_MAX)
        return KRY_OK;
    return kry_fail(KRY_ERR_PARSE,
                    "%s: blocks '%s' is no whole number above 0, with or without "
                    "+phase behind",
                    who, value);
}

enum {
    VECTORS = 1,
    SETTING = 2
}; /* words that say which vectors; those that stand behind a comma */

#define PARAMS kry_deflation_params
const kryi_field kryi_deflation_fields[] = {
    { KRY_FIELD_NOTHING, 0,
      KRY_WORD("auto", PLAIN, "", "about 4096 blocks on grids, parts of the graph else"),
      .of = VECTORS },
    { KRY_FIELD(POINTER, labels) },
    { KRY_FIELD(TEXT, labels_file),
      KRY_WORD("labels", TEXT, ":FILE", "numbers of sub-domains, one to an unknown"),
      .of = VECTORS },
    { KRY_FIELD(POINTER, vectors) },
    { KRY_FIELD(POINTER, modes) },
    { KRY_FIELD(TEXT, modes_file),
      KRY_WORD("modes", TEXT, "=FILE", "vectors for each sub-domain, an array"), .of = SETTING },
    { KRY_FIELD(INT64, stripes),
      KRY_WORD("stripes", WHOLE, ":K", "K stripes of consecutive unknowns"),
      KRY_CLOSED(1, INT32_MAX), .of = VECTORS },
    { KRY_FIELD(INT64, graph),
      KRY_WORD("graph", WHOLE, ":K", "K parts of the matrix's graph, by METIS"),
      KRY_CLOSED(1, INT32_MAX), .of = VECTORS },
    { KRY_FIELD(INT64, block),
      KRY_WORD("blocks", WHOLE, ":B[+phase]",
               "blocks of B cells a side, grids; split by their phases"),
      .of = VECTORS, .read = read_blocks },
    { KRY_FIELD(INT64, recycle),
      KRY_WORD("recycle", WHOLE, ":K", "K vectors that the first solve leaves the next ones"),
      KRY_CLOSED(1, KRY_RECYCLE_MOST), .of = VECTORS },
    { KRY_FIELD(BOOL, phase), KRY_WORD("phase", PLAIN, "", "the phases of the coefficient, grids"),
      .of = VECTORS },
    { KRY_FIELD(INT, variant),
      KRY_WORD("variant", CHOICE, "=auto|a-def2|def1|bnn", "how the second level is used"),
      .of = SETTING },
    { KRY_FIELD(INT, az), KRY_WORD("az", CHOICE, "=auto|stored|product", "products with A Z"),
      .of = SETTING },
    { KRY_FIELD(INT, coarse),
      KRY_WORD("coarse", CHOICE, "=auto|dense|cholesky", "the coarse solve"), .of = SETTING },
    { 0 },
};

const kry_word *kry_deflation_word(int i)
{
    const kryi_field *f = kryi_field_get(kryi_deflation_fields, i, NULL);
    return f ? &f->word : NULL;
}

kry_status kry_deflation_parse(const char *text, char *room, size_t size,
                               kry_deflation_params *params)
{
    kry_status st = KRY_OK;
    kry_deflation_params p;
    char who[2 * KRY_FIELD_ROOM];

    CHECK(text && room && params, KRY_ERR_ARGUMENT, "kry_deflation_parse: NULL");
    CHECK(strlen(text) < size, KRY_ERR_PARSE,
          "kry_deflation_parse: a word of %zu bytes is too long", strlen(text));
    TRY(kryi_params_take("kry_deflation_parse", "KRY_DEFLATION", params, &p, sizeof p));
    strcpy(room, text);
    snprintf(who, sizeof who, "kry_deflation_parse: '%s'", text);
    for (char *word = room, *next; word; word = next) {
        const bool first = word == room;
        char *value = word;
        next = strchr(word, ',');
        if (next) *next++ = 0;
        value += strcspn(word, first ? ":" : "=");
        if (*value) *value++ = 0;
        TRY(kryi_field_set(who, kryi_deflation_fields, first ? VECTORS : SETTING, word, value, &p));
    }
    p.struct_size = params->struct_size; /* the fields that the caller knows */
    memcpy(params, &p, p.struct_size);
done:
    return st;
}

static kry_status check(const kry_op *A, const kry_deflation_params *p)
{
    kry_status st = KRY_OK;

    CHECK(A, KRY_ERR_ARGUMENT, "kry_deflation_create: NULL");
    TRY(kryi_op_check_square("kry_deflation_create", A));
    CHECK(A->shape.rows > 0, KRY_ERR_SHAPE, "kry_deflation_create: '%s' has no unknowns",
          A->table->kind);
    TRY(kryi_fields_check("kry_deflation_create", kryi_deflation_fields, p));
    CHECK(!p->recycle || p->variant != KRY_DEF1, KRY_ERR_UNSUPPORTED,
          "kry_deflation_create: recycle = %lld: the variant is a-def2 or bnn, not def1",
          (long long)p->recycle);
done:
    return st;
}

kry_status kryi_deflation_create_with(const kry_op *A, const kry_deflation_params *params,
                                      const kryi_subdomains *subdomains, kry_op **out)
{
    kry_status st = KRY_OK;
    kryi_deflation *D = NULL;

    *out = NULL;
    kry_op_shape shape = A->shape;
    shape.traits = KRY_SYMMETRIC;
    TRY(kryi_alloc(1, sizeof *D, &D));
    D->A = kry_op_retain(A);
    D->variant = params->variant;
    D->method = params->coarse;
    D->az = params->az;
    D->fallback = subdomains->fallback;
    TRY(kry_vec_create(A->dev, shape.type, shape.rows, 1, &D->t));
    if (subdomains->recycle) {
        D->Z = (kryi_subspace){ .dev = A->dev, .type = shape.type, .n = shape.rows };
        TRY(kryi_recycle_create(D->A, subdomains->recycle, &D->recycle));
        goto made;
    }
    TRY(kryi_subspace_create(A->dev, shape.type, shape.rows, subdomains, &D->Z));
    TRY(kry_vec_create(A->dev, shape.type, D->Z.k, 1, &D->w));
    TRY(kry_vec_create(A->dev, shape.type, D->Z.k, 1, &D->c));
    TRY(kryi_alloc((size_t)D->Z.k, sizeof *D->sum, &D->sum));
    if (D->Z.modes || !kryi_galerkin_suits(A)) TRY(kryi_colours_find(A, &D->Z, &D->colours));
    TRY(make_values(D));
made:
    TRY(kryi_op_create_fused(A->dev, &deflation_table, &deflation_fused, D, &shape, out));
    D = NULL;
done:
    deflation_destroy(D);
    return st;
}

typedef struct given {
    const kry_op *A; /* of all rows */
    const kry_deflation_params *params;
    const kryi_subdomains *subdomains; /* of all rows */
} given;

static kry_status create(const kry_op *A, const void *user, kry_op **out)
{
    kry_status st = KRY_OK;
    const given *g = user;
    kryi_subdomains mine;
    kry_vec vectors;

    if (A == g->A) return kryi_deflation_create_with(A, g->params, g->subdomains, out);
    TRY(kryi_subdomains_of_part(g->subdomains, g->A, kryi_layout_rank(&A->dev->layout), &vectors,
                                &mine));
    st = kryi_deflation_create_with(A, g->params, &mine, out);
    kryi_subdomains_release(&mine);
done:
    return st;
}

kry_status kry_deflation_create(const kry_op *A, const kry_deflation_params *params, kry_op **D)
{
    kry_status st = KRY_OK;
    kryi_subdomains subdomains = { 0 };
    const kryi_stopwatch watch = kryi_stopwatch_begin(kry_op_device(A));
    kry_deflation_params mine;

    kryi_team_enter(kry_op_device(A), "kry_deflation_create", NULL);
    if (D) *D = NULL;
    TRY(GIVEN(D, A));
    TAKE_PARAMS(params, mine, "kry_deflation_create", "KRY_DEFLATION");
    kryi_team_same_fields(A->dev, kryi_deflation_fields, params);
    TRY(check(A, params));
    TRY(kryi_subdomains_find(A, params, &subdomains));
    TRY(kryi_op_make(A, create, &(given){ A, params, &subdomains }, D));
    (*D)->setup = kryi_stopwatch_end(&watch);
done:
    kryi_subdomains_release(&subdomains);
    st = kryi_team_leave(kry_op_device(A), st);
    if (st < 0) kry_op_release(D);
    return st;
}

/* Exchange the contents of D and `next`. */
static void change_places(kryi_deflation *D, kryi_deflation *next)
{
    const kryi_deflation both = *D;

    *D = *next, *next = both;
}

kry_status kry_deflation_update(const kry_op *A, const kry_deflation_params *params, kry_op *D)
{
    kry_status st = KRY_OK;
    kry_op *next = NULL;
    kry_deflation_params p;

    TRY(GIVEN(A, D));
    TAKE_PARAMS(params, p, "kry_deflation_update", "KRY_DEFLATION");
    const kryi_here here = kryi_op_here(A), of_D = kryi_op_here(D);
    bool of_A = here.begin == of_D.begin && here.end == of_D.end;
    for (int r = here.begin; of_A && r < here.end; r++) {
        const kryi_deflation *mine = kryi_deflation_of(kryi_op_piece(D, r));
        of_A = mine && mine->A == kryi_op_piece(A, r);
        if (of_A) p.variant = mine->variant;
    }
    CHECK(of_A, KRY_ERR_ARGUMENT, "kry_deflation_update: '%s' is no deflation of this '%s'",
          D->table->kind, A->table->kind);
    TRY(kry_deflation_create(A, &p, &next));
    for (int r = here.begin; r < here.end; r++) {
        change_places(kryi_deflation_of(kryi_op_piece(D, r)),
                      kryi_deflation_of(kryi_op_piece(next, r)));
    }
done:
    kry_op_release(&next);
    return st;
}

kry_status kryi_deflation_recycle(kryi_deflation *D, const kry_op *M)
{
    kry_status st = KRY_OK;
    kry_op *next = NULL;
    kry_vec Z, t = kryi_vec_column(D->t, 0);

    if (!D->recycle) return KRY_OK;
    TRY(kryi_recycle_choose(D->recycle, M, D->Z.vectors, &t, &Z));
    if (Z.k == 0) return KRY_OK;
    const kry_deflation_params params = { .variant = D->variant, .az = D->az, .coarse = D->method };
    TRY(kryi_deflation_create_with(D->A, &params, &(kryi_subdomains){ .vectors = &Z }, &next));
    change_places(D, kryi_deflation_of(next));
    D->recycle = kryi_deflation_of(next)->recycle, kryi_deflation_of(next)->recycle = NULL;
done:
    kry_op_release(&next);
    return st;
}
