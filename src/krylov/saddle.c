/*
 * saddle.c - block preconditioners of saddle points, by preconditioners of the first field's block F and of an approximation
 * S of its Schur complement. Rows of the second field change sign where that makes S positive.
 *
 *   A = [F B1; B2 D],  S ~ B2 F^-1 B1 - D
 *
 *   diagonal  z1 := F^-1 r1,  z2 := S^-1 r2
 *   lower     z1 := F^-1 r1,  z2 := S^-1 (B2 z1 - r2)
 *   upper     z2 := -S^-1 r2,  z1 := F^-1 (r1 - B1 z2)
 *   full      z2 as lower, then z1 as upper
 *
 *   mass      S := scale diag(mass), or diag(B2 diag(F)^-1 B1 - D); S^-1 += 1 1' / q, q := 1' (B2 F^-1 B1 - D) 1, if q is
 *             small beside 1' S 1: where one pressure is set to zero, no diagonal matrix is right for constants
 *   simple    S := B2 diag(F)^-1 B1 - D
 *   lsc       S^-1 := P^-1 (B2 diag(F)^-1) F (diag(F)^-1 B1) P^-1,  P := B2 diag(F)^-1 B1;  D = 0
 *
 * It stands beside the words since its blocks are made by them.
 *
 * Storage     the blocks and their preconditioners; 2 to 4 vectors
 * Per use     F^-1, full: twice; S^-1, lsc: P^-1 twice; products with B1 and B2 but for diagonal; copies of r and z
 * Source      M. Benzi, G. H. Golub, J. Liesen, Numerical solution of saddle point problems, Acta Numer. 14 (2005),
 *             doi:10.1017/S0962492904000212; simple: S. V. Patankar, D. B. Spalding, Int. J. Heat Mass Transf. 15 (1972);
 *             lsc: H. Elman, V. E. Howle, J. Shadid, R. Shuttleworth, R. Tuminaro, SIAM J. Sci. Comput. 27 (2006),
 *             doi:10.1137/040608817
 */
#include "krylov/auto_precond.h"
#include "krylov/method.h"
#include "krylov/options.h"
#include "matrix/matrix.h"
#include "operator/null_space.h"
#include "operator/op_parts.h"
#include "precond/rows.h"
#include <float.h>
#include <kry/precond.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char who[] = "kry_saddle_create";
enum { FIRST, SECOND, FIELDS };

/* New values of A change all of these. An inverse is NULL where its word is none. */
typedef struct blocks {
    double sign;               /* that rows of the second field are multiplied by */
    kry_op *F, *upper, *lower; /* B1, and sign B2 */
    kry_op *inverse[FIELDS];
    kry_op *right, *left; /* lsc: diag(F)^-1 B1 and sign B2 diag(F)^-1; else NULL */
    /* mass, where S is far too large for constants: -1 / q of each row; else NULL */
    kry_vec *shift;
    kryi_null_space constants; /* with shift */
} blocks;

typedef struct saddle {
    kry_op *A;                         /* retained */
    kry_saddle_params params;          /* whose pointers are not used any more */
    char word[FIELDS][KRY_FIELD_ROOM]; /* "": jacobi, amg, or where that refuses the block ilu0 */
    bool easy; /* Jacobi's preconditioner does for F, and diag(F) for F in S */
    int64_t rows[FIELDS];
    int32_t *order; /* n: the rows of the first field, then those of the second; both ascend */
    int32_t *place[FIELDS];   /* n each: of a row in its field, -1: it is in the other one */
    kry_op *gather, *scatter; /* NULL: the order is that of A */
    double *mass;             /* rows[SECOND]; NULL: ones */
    blocks blocks;
    kry_vec *r, *z, *w[2]; /* of as many columns as there ever were; w: lsc */
    char variant[400];
} saddle;

static void release_blocks(blocks *b)
{
    kry_op **all[] = { &b->F,          &b->upper, &b->lower, &b->inverse[0],
                       &b->inverse[1], &b->right, &b->left };
    for (size_t i = 0; i < COUNT(all); i++) kry_op_release(all[i]);
    kry_vec_release(&b->shift);
    kryi_null_space_release(&b->constants);
}

/* ---- fields ---------------------------------------------------------------------------------- */

static kry_status make_maps(saddle *M)
{
    kry_status st = KRY_OK;
    const int64_t n = M->A->shape.rows;
    kryi_csr G = { 0 }, S = { 0 };

    TRY(kryi_csr_create(n, n, KRY_F64, n, &G));
    double *ones = G.val;
    for (int64_t i = 0; i < n; i++) G.col[i] = M->order[i], ones[i] = 1, G.row_ptr[i + 1] = i + 1;
    TRY(kryi_csr_transpose(&G, &S));
    TRY(kryi_rows_matrix(M->A, &G, 0, &M->gather));
    TRY(kryi_rows_matrix(M->A, &S, 0, &M->scatter));
done:
    kryi_csr_release(&S);
    kryi_csr_release(&G);
    return st;
}

static kry_status find_fields(saddle *M, const kryi_csr *R)
{
    kry_status st = KRY_OK;
    const kry_saddle_params *p = &M->params;
    const int64_t n = R->rows;
    bool moved = false;

    TRY(kryi_alloc((size_t)n, sizeof *M->order, &M->order));
    for (int f = 0; f < FIELDS; f++) TRY(kryi_alloc((size_t)n, sizeof *M->place[f], &M->place[f]));
    for (int64_t i = 0; i < n; i++) {
        const bool second = p->field  ? p->field[i]
                            : p->rows ? i >= p->rows
                                      : !(kryi_csr_entry(R, i, i) > 0);
        const int f = second ? SECOND : FIRST;
        M->place[!f][i] = -1;
        M->place[f][i] = (int32_t)M->rows[f]++;
    }
    CHECK(M->rows[FIRST] && M->rows[SECOND], KRY_ERR_ARGUMENT,
          p->field || p->rows
              ? "%s: the %s field of '%s' has none of its %lld rows"
              : "%s: the %s field of '%s', by the sign of the diagonal, has none of its "
                "%lld rows: say how many rows the first one has (rows=N)",
          who, M->rows[FIRST] ? "second" : "first", M->A->table->kind, (long long)n);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at =
            M->place[FIRST][i] >= 0 ? M->place[FIRST][i] : M->rows[FIRST] + M->place[SECOND][i];
        M->order[at] = (int32_t)i;
        moved |= at != i;
    }
    if (moved) TRY(make_maps(M));
done:
    return st;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The entries of the blocks, in double. */
typedef struct entries {
    kryi_csr block[FIELDS][FIELDS];
    bool symmetric;
} entries;

static void release_entries(entries *E)
{
    for (int i = 0; i < FIELDS; i++)
        for (int j = 0; j < FIELDS; j++) kryi_csr_release(&E->block[i][j]);
}

static kry_status cut(const saddle *M, const kryi_csr *R, entries *E)
{
    kry_status st = KRY_OK;
    kryi_finding found;

    TRY(kryi_matrix_inspect(R, &found));
    E->symmetric = found.what != KRY_FOUND_ASYMMETRIC;
    for (int i = 0; i < FIELDS; i++)
        for (int j = 0; j < FIELDS; j++) {
            const kryi_csr_cut part = { .rows = M->rows[i],
                                        .row = M->order + (i ? M->rows[FIRST] : 0),
                                        .cols = M->rows[j],
                                        .place = M->place[j] };
            TRY(kryi_csr_part(R, &part, &E->block[i][j], NULL));
        }
done:
    return st;
}

/* val *= by, of row i or of column j */
static void scale(kryi_csr *A, const double *rows, const double *cols, double by)
{
    double *val = A->val;

    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            val[e] *= by * (rows ? rows[i] : 1) * (cols ? cols[A->col[e]] : 1);
}

/* d := diag(F)^-1, to be freed. */
static kry_status invert_diagonal(const saddle *M, const kryi_csr *F, double **d)
{
    kry_status st = KRY_OK;

    TRY(kryi_alloc((size_t)F->rows, sizeof **d, d));
    for (int64_t i = 0; i < F->rows; i++) {
        const double v = kryi_csr_entry(F, i, i);
        CHECK(v != 0 && isfinite(1 / v), KRY_ERR_SINGULAR,
              "%s: the diagonal entry of row %lld of '%s', in the first field, is %g: the Schur "
              "complement needs its inverse "
              "(but for schur=mass)" COUNTED,
              who, ROW(M->order[i]), M->A->table->kind, v, kryi_first_row);
        (*d)[i] = 1 / v;
    }
done:
    return st;
}

/* The diagonal entry (i, i) of B2 diag(F)^-1 B1 - D. */
static double schur_diagonal(const entries *E, int64_t i)
{
    const kryi_csr *lower = &E->block[SECOND][FIRST], *upper = &E->block[FIRST][SECOND];
    const double *b = lower->val;
    double s = -kryi_csr_entry(&E->block[SECOND][SECOND], i, i);

    for (int64_t e = lower->row_ptr[i]; e < lower->row_ptr[i + 1]; e++) {
        const int64_t k = lower->col[e];
        const double f = kryi_csr_entry(&E->block[FIRST][FIRST], k, k);
        if (f != 0) s += b[e] * kryi_csr_entry(upper, k, i) / f;
    }
    return s;
}

/* Refuse a number on S's diagonal that is not positive, where A is symmetric, or is zero. */
static kry_status check_diagonal(const saddle *M, bool symmetric, int64_t i, double s)
{
    kry_status st = KRY_OK;

    CHECK((s > 0 || (!symmetric && s < 0)) && isfinite(1 / s), KRY_ERR_SINGULAR,
          "%s: for row %lld of '%s', in the second field, B2 diag(F)^-1 B1 - D has %g on its "
          "diagonal, which is to be "
          "%s" COUNTED,
          who, ROW(M->order[M->rows[FIRST] + i]), M->A->table->kind, s,
          symmetric ? "positive" : "other than zero", kryi_first_row);
done:
    return st;
}

/* S := L R - D, by one product, [L D] [R; -I] */
static kry_status schur_entries(const kryi_csr *L, const kryi_csr *R, const kryi_csr *D,
                                kryi_csr *S)
{
    kry_status st = KRY_OK;
    const int64_t n = R->rows, m = D->rows, nnz = kryi_csr_nnz(R);
    kryi_csr wide = { 0 }, tall = { 0 };

    TRY(kryi_csr_beside(L, D, &wide));
    TRY(kryi_csr_create(n + m, m, KRY_F64, nnz + m, &tall));
    memcpy(tall.row_ptr, R->row_ptr, (size_t)(n + 1) * sizeof *tall.row_ptr);
    memcpy(tall.col, R->col, (size_t)nnz * sizeof *tall.col);
    memcpy(tall.val, R->val, (size_t)nnz * sizeof(double));
    for (int64_t i = 0; i < m; i++) {
        tall.col[nnz + i] = (int32_t)i, ((double *)tall.val)[nnz + i] = -1;
        tall.row_ptr[n + i + 1] = nnz + i + 1;
    }
    TRY(kryi_csr_multiply(&wide, &tall, S));
    TRY(kryi_csr_sort(S));
done:
    kryi_csr_release(&tall);
    kryi_csr_release(&wide);
    return st;
}

/* Let S, which is symmetric but for rounding, be so to the bit. */
static kry_status symmetrise(const saddle *M, kryi_csr *S)
{
    kry_status st = KRY_OK;
    kryi_csr_mismatch m;

    for (int64_t i = 0; i < S->rows; i++) TRY(check_diagonal(M, true, i, kryi_csr_entry(S, i, i)));
    TRY(kryi_csr_symmetrise(S, 1e-6, &m));
    CHECK(m.i < 0, KRY_ERR_ARGUMENT, "%s: '%s' is not symmetric", who, M->A->table->kind);
done:
    return st;
}

/* A word as settings hold it, with + in place of commas. */
static kry_status make_precond(const kry_op *block, const char *word, kry_op **M)
{
    char text[KRY_FIELD_ROOM];

    snprintf(text, sizeof text, "%s", word);
    for (char *c = text; (c = strchr(c, '+'));) *c = ',';
    return kryi_precond_create(block, text, false, M);
}

/* A solver by options of kry_solver_create with / in place of spaces; usual: the word where they say no precond. */
static kry_status make_solver(const kry_op *block, const char *options, const char *usual,
                              kry_op **solver)
{
    static const char *const words[] = { "method", "precond",     "rtol", "atol",
                                         "maxit",  "check-every", "stop" };
    kry_status st = KRY_OK;
    kryi_options o = { 0 };
    kry_op *M = NULL;
    char text[KRY_FIELD_ROOM];

    snprintf(text, sizeof text, "%s", options);
    for (char *c = text; (c = strchr(c, '/'));) *c = ' ';
    TRY(kryi_options_parse(text, &o));
    unsigned others = o.given;
    for (size_t i = 0; i < COUNT(words); i++)
        others &= ~(1u << kryi_field_find(kryi_options_fields, ~0u, words[i]));
    CHECK(!others && o.method < KRY_METHOD_COUNT, KRY_ERR_PARSE,
          "'%s': a block's solver is a Krylov method, with precond, rtol, atol, maxit, check-every "
          "and stop",
          options);
    TRY(make_precond(block, o.precond[0] ? o.precond : usual, &M));
    o.pcg.struct_size = sizeof o.pcg, o.pcg.precond = M;
    TRY(kryi_method_create(kryi_method_number(o.method), block, &o.pcg, o.width, solver));
    (*solver)->stop = o.pcg.stop;
done:
    kry_op_release(&M);
    return st;
}

/* An inverse of `block`, which stands for the field f. */
static kry_status make_inverse(const saddle *M, const kry_op *block, int f, kry_op **inverse)
{
    const kry_saddle_params *p = &M->params;
    const char *word = M->word[f], *usual = f == FIRST && M->easy ? "jacobi" : "amg";
    char why[400];
    kry_status st = p->make ? p->make(p->make_user, block, f, inverse)
                    : !strncmp(word, "method=", 7)
                        ? make_solver(block, word, usual, inverse)
                        : make_precond(block, *word ? word : usual, inverse);

    if (!*word && !p->make && (st == KRY_ERR_ARGUMENT || st == KRY_ERR_UNSUPPORTED))
        st = make_precond(block, "ilu0", inverse);
    if (st >= 0) return st;
    snprintf(why, sizeof why, "%s", kry_last_error());
    return kry_fail(
        st, "%s: for the %s, in whose rows these are: %s", who,
        f == FIRST ? "block of the first field" : "Schur complement of the second field", why);
}

/* y := op x. A solver that ends early has made something of x all the same. */
static kry_status apply_inverse(const kry_op *op, const kry_vec *x, kry_vec *y)
{
    const kry_status st = op ? kry_op_apply(op, 1, x, 0, y) : kry_vec_copy(x, y);
    return st > 0 ? KRY_OK : st;
}

static bool has_entries(const kryi_csr *A)
{
    const double *val = A->val;
    for (int64_t e = 0; e < kryi_csr_nnz(A); e++)
        if (val[e] != 0) return true;
    return false;
}

/* The inverse of the diagonal matrix, as a matrix. *sum: that of the diagonal matrix */
static kry_status make_mass(const saddle *M, const entries *E, blocks *b, double *sum)
{
    kry_status st = KRY_OK;
    kryi_csr S = { 0 };
    double *d = NULL;
    const int64_t n = M->rows[SECOND];
    const bool given = M->mass || M->params.scale != 0;
    const double scale = M->params.scale != 0 ? M->params.scale : 1;

    if (!given) TRY(invert_diagonal(M, &E->block[FIRST][FIRST], &d));
    TRY(kryi_csr_create(n, n, KRY_F64, n, &S));
    double *val = S.val;
    for (int64_t i = 0; i < n; i++) {
        S.col[i] = (int32_t)i, S.row_ptr[i + 1] = i + 1;
        const double s = !given ? schur_diagonal(E, i) : scale * (M->mass ? M->mass[i] : 1);
        if (!given) TRY(check_diagonal(M, E->symmetric, i, s));
        val[i] = 1 / s;
        *sum += s;
    }
    TRY(kryi_rows_matrix(M->A, &S, given || E->symmetric ? KRY_POSITIVE : 0, &b->inverse[SECOND]));
done:
    free(d);
    kryi_csr_release(&S);
    return st;
}

/* q := 1' (B2 F^-1 B1 - D) 1, by the preconditioner of F */
static kry_status constant_of_schur(const saddle *M, const kryi_csr *D, const blocks *b, double *q)
{
    kry_status st = KRY_OK;
    kry_vec *ones = NULL, *second = NULL, *first[2] = { NULL };
    const double *d = D->val;

    TRY(kry_vec_create(M->A->dev, M->A->shape.type, M->rows[SECOND], 1, &ones));
    TRY(kry_vec_create(M->A->dev, M->A->shape.type, M->rows[SECOND], 1, &second));
    for (int k = 0; k < 2; k++)
        TRY(kry_vec_create(M->A->dev, M->A->shape.type, M->rows[FIRST], 1, &first[k]));
    TRY(kry_vec_fill(ones, 1));
    TRY(kry_op_apply(b->upper, 1, ones, 0, first[0]));
    TRY(apply_inverse(b->inverse[FIRST], first[0], first[1]));
    TRY(kry_op_apply(b->lower, 1, first[1], 0, second));
    TRY(kry_vec_dot(ones, second, q));
    for (int64_t e = 0; e < kryi_csr_nnz(D); e++) *q -= d[e];
done:
    for (int k = 0; k < 2; k++) kry_vec_release(&first[k]);
    kry_vec_release(&second);
    kry_vec_release(&ones);
    return st;
}

/* Constants that A maps to zero, up to rounding, are left to who takes its null space out. sum: 1' S 1 */
static kry_status make_shift(const saddle *M, const kryi_csr *D, double sum, blocks *b)
{
    /* of what S says: for Stokes's flow between walls no other pressure has less than a fifth */
    static const double small = 0.05;
    const double eps = M->A->shape.type == KRY_F32 ? FLT_EPSILON : DBL_EPSILON;
    kry_status st = KRY_OK;
    double q;

    TRY(constant_of_schur(M, D, b, &q));
    if (!(q > 100 * eps * eps * sum && q < small * sum)) return KRY_OK;
    TRY(kry_vec_create(M->A->dev, M->A->shape.type, M->rows[SECOND], 1, &b->shift));
    TRY(kry_vec_fill(b->shift, -1 / q));
    TRY(kryi_null_space_constants(b->inverse[SECOND], &b->constants));
done:
    return st;
}

static kry_status make_lsc(const saddle *M, const kryi_csr *lower, const kryi_csr *right,
                           const double *d, blocks *b)
{
    kry_status st = KRY_OK;
    kryi_csr copy = { 0 };

    TRY(kryi_csr_copy(right, &copy));
    TRY(kryi_rows_matrix(M->A, &copy, 0, &b->right));
    kryi_csr_release(&copy);
    TRY(kryi_csr_copy(lower, &copy));
    scale(&copy, NULL, d, 1);
    TRY(kryi_rows_matrix(M->A, &copy, 0, &b->left));
done:
    kryi_csr_release(&copy);
    return st;
}

/* S, or P, and its inverse. The signs of E are those that make it positive. */
static kry_status make_schur(const saddle *M, const entries *E, blocks *b)
{
    kry_status st = KRY_OK;
    const kryi_csr *lower = &E->block[SECOND][FIRST], *D = &E->block[SECOND][SECOND];
    const bool lsc =
        M->params.schur == KRY_SCHUR_LSC || (M->params.schur == KRY_SCHUR_AUTO && !has_entries(D));
    kryi_csr right = { 0 }, S = { 0 };
    kry_op *matrix = NULL;
    double *d = NULL;

    CHECK(!lsc || !has_entries(D), KRY_ERR_UNSUPPORTED,
          "%s: schur=lsc is for a second field without entries of its own, and '%s' has some "
          "there: take schur=simple or "
          "mass",
          who, M->A->table->kind);
    TRY(invert_diagonal(M, &E->block[FIRST][FIRST], &d));
    TRY(kryi_csr_copy(&E->block[FIRST][SECOND], &right));
    scale(&right, d, NULL, 1);
    TRY(schur_entries(lower, &right, D, &S));
    if (E->symmetric) TRY(symmetrise(M, &S));
    if (lsc) TRY(make_lsc(M, lower, &right, d, b));
    TRY(kryi_rows_matrix(M->A, &S, E->symmetric ? KRY_SYMMETRIC : 0, &matrix));
    TRY(make_inverse(M, matrix, SECOND, &b->inverse[SECOND]));
done:
    kry_op_release(&matrix);
    kryi_csr_release(&S);
    kryi_csr_release(&right);
    free(d);
    return st;
}

/* E: its second row changes sign as b->sign says */
static kry_status make_blocks(const saddle *M, entries *E, blocks *b)
{
    kry_status st = KRY_OK;
    const bool mass = M->params.schur == KRY_SCHUR_MASS;
    double s = 0, sum = 0;

    for (int64_t i = 0; i < M->rows[SECOND] && s == 0; i++) s = schur_diagonal(E, i);
    *b = (blocks){ .sign = s < 0 ? -1 : 1 };
    for (int j = 0; j < FIELDS; j++) scale(&E->block[SECOND][j], NULL, NULL, b->sign);
    TRY(mass ? make_mass(M, E, b, &sum) : make_schur(M, E, b));
    TRY(kryi_rows_matrix(M->A, &E->block[FIRST][FIRST], E->symmetric ? KRY_SYMMETRIC : 0, &b->F));
    TRY(kryi_rows_matrix(M->A, &E->block[FIRST][SECOND], 0, &b->upper));
    TRY(kryi_rows_matrix(M->A, &E->block[SECOND][FIRST], 0, &b->lower));
    TRY(make_inverse(M, b->F, FIRST, &b->inverse[FIRST]));
    if (mass) TRY(make_shift(M, &E->block[SECOND][SECOND], sum, b));
done:
    if (st < 0) release_blocks(b);
    return st;
}

/* ---- the table ------------------------------------------------------------------------------- */

static kry_vec field_of(const saddle *M, const kry_vec *v, int f)
{
    kry_vec part = kryi_vec_borrow(v);
    part.n = M->rows[f];
    if (f == SECOND) part.first += M->rows[FIRST];
    return part;
}

/* z := S^-1 r; lsc loses r */
static kry_status apply_schur(saddle *M, kry_vec *r, kry_vec *z)
{
    kry_status st = KRY_OK;
    blocks *b = &M->blocks;
    kry_vec w[2];

    TRY(apply_inverse(b->inverse[SECOND], r, z));
    if (b->shift) TRY(kryi_null_space_shift(&b->constants, r, b->shift, z));
    if (!b->right) return KRY_OK;
    for (int k = 0; k < 2; k++) TRY(kryi_vec_take(&M->w[k], r->k, &w[k]));
    TRY(kry_op_apply(b->right, 1, z, 0, &w[0]));
    TRY(kry_op_apply(b->F, 1, &w[0], 0, &w[1]));
    TRY(kry_op_apply(b->left, 1, &w[1], 0, r));
    TRY(apply_inverse(b->inverse[SECOND], r, z));
done:
    return st;
}

/* z := M r for vectors in the order of fields; r is lost. */
static kry_status apply_fields(saddle *M, const kry_vec *r, const kry_vec *z)
{
    kry_status st = KRY_OK;
    const blocks *b = &M->blocks;
    const kry_saddle_kind kind = M->params.kind;
    const bool diagonal = kind == KRY_SADDLE_DIAGONAL,
               below = kind == KRY_SADDLE_LOWER || kind == KRY_SADDLE_FULL,
               above = kind == KRY_SADDLE_UPPER || kind == KRY_SADDLE_FULL;
    kry_vec r1 = field_of(M, r, FIRST), r2 = field_of(M, r, SECOND), z1 = field_of(M, z, FIRST),
            z2 = field_of(M, z, SECOND);

    if (diagonal || below) TRY(apply_inverse(b->inverse[FIRST], &r1, &z1));
    const double factor = diagonal ? 1 : -b->sign;
    if (factor != 1) TRY(kry_vec_axpby(0, &r2, factor, &r2));
    if (below) TRY(kry_op_apply(b->lower, 1, &z1, 1, &r2));
    TRY(apply_schur(M, &r2, &z2));
    if (!above) return KRY_OK;
    TRY(kry_op_apply(b->upper, -1, &z2, 1, &r1));
    TRY(apply_inverse(b->inverse[FIRST], &r1, &z1));
done:
    return st;
}

static kry_status run(void *self, const kry_vec *x, kry_vec *y)
{
    saddle *M = self;
    kry_status st = KRY_OK;
    kry_vec r, z;

    TRY(kryi_vec_take(&M->r, x->k, &r));
    if (!M->gather) {
        TRY(kry_vec_copy(x, &r));
        return apply_fields(M, &r, y);
    }
    TRY(kryi_vec_take(&M->z, x->k, &z));
    TRY(kry_op_apply(M->gather, 1, x, 0, &r));
    TRY(apply_fields(M, &r, &z));
    TRY(kry_op_apply(M->scatter, 1, &z, 0, y));
done:
    return st;
}

static kry_status saddle_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return kryi_op_apply_by(run, self, alpha, x, beta, y);
}

static void describe_inverse(const kry_op *op, char text[150])
{
    kry_op_info info = { .kind = "none", .variant = "" };
    if (op) kry_op_describe(op, &info);
    snprintf(text, 150, "%s%s%s", info.kind, *info.variant ? " " : "", info.variant);
}

static void print_variant(saddle *M)
{
    static const char *const kinds[] = { "auto", "diagonal", "lower", "upper", "full" };
    const blocks *b = &M->blocks;
    const char *schur = b->right ? "lsc" : M->params.schur == KRY_SCHUR_MASS ? "mass" : "simple";
    char first[150], second[150];

    describe_inverse(b->inverse[FIRST], first);
    describe_inverse(b->inverse[SECOND], second);
    snprintf(M->variant, sizeof M->variant, "%s of %lld and %lld rows, schur=%s; %s; %s",
             kinds[M->params.kind], (long long)M->rows[FIRST], (long long)M->rows[SECOND], schur,
             first, second);
}

/* The fields stay. The old blocks stay until the new ones are whole. */
static kry_status saddle_renew(void *self)
{
    saddle *M = self;
    kry_status st = KRY_OK;
    kryi_csr R = { 0 };
    entries E = { 0 };
    blocks next;

    TRY(kryi_rows_read(who, M->A, &R));
    TRY(cut(M, &R, &E));
    TRY(make_blocks(M, &E, &next));
    release_blocks(&M->blocks);
    M->blocks = next;
    print_variant(M);
done:
    release_entries(&E);
    kryi_csr_release(&R);
    return st;
}

static void saddle_describe(void *self, kry_op_info *info)
{
    const saddle *M = self;
    const blocks *b = &M->blocks;
    const kry_op *all[] = { b->F,     b->upper, b->lower,  b->inverse[0], b->inverse[1],
                            b->right, b->left,  M->gather, M->scatter };

    info->variant = M->variant;
    for (size_t i = 0; i < COUNT(all); i++) {
        kry_op_info part;
        if (!all[i]) continue;
        kry_op_describe(all[i], &part);
        info->bytes_stored += part.bytes_stored;
    }
}

static void saddle_destroy(void *self)
{
    saddle *M = self;
    if (!M) return;
    for (int k = 0; k < 2; k++) kry_vec_release(&M->w[k]);
    kry_vec_release(&M->z);
    kry_vec_release(&M->r);
    release_blocks(&M->blocks);
    kry_op_release(&M->scatter);
    kry_op_release(&M->gather);
    for (int f = 0; f < FIELDS; f++) free(M->place[f]);
    free(M->order), free(M->mass);
    kry_op_release(&M->A);
    free(M);
}

static const kry_op_table saddle_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "saddle",
    .apply = saddle_apply,
    .apply_block = saddle_apply,
    .describe = saddle_describe,
    .destroy = saddle_destroy,
};

static bool op_is_unsymmetric(const kry_op *op)
{
    return op && op->fused->is_unsymmetric && op->fused->is_unsymmetric(op->self);
}

static bool is_unsymmetric(const void *self)
{
    const saddle *M = self;
    const blocks *b = &M->blocks;
    return M->params.kind == KRY_SADDLE_LOWER || M->params.kind == KRY_SADDLE_UPPER ||
           op_is_unsymmetric(b->inverse[FIRST]) || op_is_unsymmetric(b->inverse[SECOND]);
}

static const kryi_op_fused saddle_fused = { .renew = saddle_renew,
                                            .is_unsymmetric = is_unsymmetric };

static unsigned traits_of(const saddle *M, bool symmetric)
{
    const unsigned none = KRY_SYMMETRIC | KRY_POSITIVE;
    const kry_op *const *inverse = (const kry_op *const *)M->blocks.inverse;
    const unsigned first = inverse[FIRST] ? inverse[FIRST]->shape.traits : none,
                   second = inverse[SECOND] ? inverse[SECOND]->shape.traits : none;
    const bool positive =
        symmetric && M->params.kind == KRY_SADDLE_DIAGONAL && first & second & KRY_POSITIVE;

    return ((first | second) & (KRY_VARYING | KRY_WAITS)) | (positive ? none : 0);
}

/* ---- making one ------------------------------------------------------------------------------ */

static kry_status check(const kry_op *A, const void *params)
{
    kry_status st = KRY_OK;
    const kry_saddle_params *p = params;
    const int64_t n = A->shape.rows;

    CHECK(!A->dev->team, KRY_ERR_UNSUPPORTED,
          "%s: blocks of fields are for one device, and this is a team of %d", who,
          kry_team_size(A->dev));
    CHECK(p->rows < n || !p->rows, KRY_ERR_ARGUMENT,
          "%s: rows = %lld of the first field: they must be fewer than the %lld of '%s'", who,
          (long long)p->rows, (long long)n, A->table->kind);
    CHECK(!p->field || !p->rows, KRY_ERR_ARGUMENT,
          "%s: rows and field say the same: give one of them", who);
    for (int64_t i = 0; p->field && i < n; i++)
        CHECK(p->field[i] < FIELDS, KRY_ERR_ARGUMENT,
              "%s: field %d of row %lld is neither 0 nor 1" COUNTED, who, p->field[i], ROW(i),
              kryi_first_row);
done:
    return st;
}

static kry_status copy_mass(saddle *M, const double *mass)
{
    kry_status st = KRY_OK;
    const int64_t n = M->rows[SECOND];

    if (!mass) return KRY_OK;
    TRY(kryi_alloc((size_t)n, sizeof *M->mass, &M->mass));
    for (int64_t i = 0; i < n; i++) {
        CHECK(mass[i] > 0 && isfinite(mass[i]), KRY_ERR_ARGUMENT,
              "%s: number %lld of mass is %g; all must be positive" COUNTED, who, ROW(i), mass[i],
              kryi_first_row);
        M->mass[i] = mass[i];
    }
done:
    return st;
}

static kry_status take_words(saddle *M, const kry_saddle_params *p)
{
    kry_status st = KRY_OK;
    const char *const words[] = { p->first, p->second };

    for (int f = 0; f < FIELDS; f++) {
        CHECK(!words[f] || strlen(words[f]) < sizeof M->word[f], KRY_ERR_ARGUMENT,
              "%s: %s has more than %zu bytes", who, f ? "second" : "first", sizeof M->word[f] - 1);
        if (words[f]) strcpy(M->word[f], words[f]);
    }
done:
    return st;
}

/* Choose the kind and S where params say auto. Where F is near its diagonal, S with diag(F) is near the Schur complement, as of optimality systems and
 * Darcy's flow; else F is taken for that of Stokes's flow, whose Schur complement is like a mass matrix. */
static kry_status choose(saddle *M, const entries *E)
{
    enum { FEW = 50 }; /* iterations with Jacobi's preconditioner for F */
    kry_status st = KRY_OK;
    kry_saddle_params *p = &M->params;
    kryi_csr F = { 0 };
    double iterations;

    TRY(kryi_csr_copy(&E->block[FIRST][FIRST], &F));
    TRY(kryi_precond_predict(M->A, &F, &iterations));
    M->easy = iterations <= FEW;
    if (p->kind == KRY_SADDLE_AUTO) p->kind = E->symmetric ? KRY_SADDLE_DIAGONAL : KRY_SADDLE_LOWER;
    if (p->schur == KRY_SCHUR_AUTO)
        p->schur = M->mass || p->scale != 0                 ? KRY_SCHUR_MASS
                   : M->easy                                ? KRY_SCHUR_SIMPLE
                   : E->symmetric                           ? KRY_SCHUR_MASS
                   : has_entries(&E->block[SECOND][SECOND]) ? KRY_SCHUR_SIMPLE
                                                            : KRY_SCHUR_LSC;
done:
    kryi_csr_release(&F);
    return st;
}

static kry_status create(const kry_op *A, const void *params, kry_op **out)
{
    kry_status st = KRY_OK;
    const kry_saddle_params *p = params;
    kryi_csr R = { 0 };
    entries E = { 0 };
    saddle *M = NULL;

    TRY(kryi_alloc(1, sizeof *M, &M));
    M->A = kry_op_retain(A);
    M->params = *p;
    TRY(take_words(M, p));
    TRY(kryi_rows_read(who, A, &R));
    TRY(find_fields(M, &R));
    TRY(copy_mass(M, p->mass));
    TRY(cut(M, &R, &E));
    TRY(choose(M, &E));
    TRY(make_blocks(M, &E, &M->blocks));
    TRY(kryi_vec_create_room(A->dev, A->shape.type, A->shape.rows, 1, &M->r));
    if (M->gather) TRY(kryi_vec_create_room(A->dev, A->shape.type, A->shape.rows, 1, &M->z));
    for (int k = 0; k < 2 && M->blocks.right; k++)
        TRY(kryi_vec_create_room(A->dev, A->shape.type, M->rows[FIRST], 1, &M->w[k]));
    print_variant(M);
    kry_op_shape shape = A->shape;
    shape.traits = traits_of(M, E.symmetric);
    TRY(kryi_op_create_fused(A->dev, &saddle_table, &saddle_fused, M, &shape, out));
    M = NULL;
done:
    release_entries(&E);
    kryi_csr_release(&R);
    saddle_destroy(M);
    return st;
}

#define PARAMS kry_saddle_params
static const kryi_field fields[] = {
    { KRY_FIELD(INT, kind),
      KRY_WORD("kind", CHOICE, "=auto|diagonal|lower|upper|full",
               "of block matrix (default: diagonal if A is symmetric, else lower)"),
      .bare = true },
    { KRY_FIELD(INT, schur),
      KRY_WORD("schur", CHOICE, "=auto|mass|simple|lsc",
               "what stands for the Schur complement (default: by a look at F)"),
      .bare = true },
    { KRY_FIELD(INT64, rows),
      KRY_WORD("rows", WHOLE, "=N",
               "the first N are the first field (default: where the diagonal is positive)"),
      KRY_CLOSED(1, INFINITY) },
    { KRY_FIELD(POINTER, field) },
    { KRY_FIELD(DOUBLE, scale),
      KRY_WORD("scale", REAL, "=X", "mass: so much, in place of the diagonal of simple's"),
      KRY_OPEN(0, INFINITY) },
    { KRY_FIELD(POINTER, mass) },
    { KRY_FIELD(TEXT, first),
      KRY_WORD(
          "first", TEXT, "=WORD",
          "preconditioner of its block, + for commas (default jacobi, amg or ilu0), or options "
          "of a solver, / for spaces: method=pcg/precond=amg/rtol=0.1") },
    { KRY_FIELD(TEXT, second),
      KRY_WORD("second", TEXT, "=WORD",
               "preconditioner or solver of the Schur complement (default amg or ilu0)") },
    { KRY_FIELD(LOCAL, make) },
    { KRY_FIELD(LOCAL, make_user) },
    { 0 },
};

const kryi_constructor kryi_saddle_precond = { who,    "KRY_SADDLE",   sizeof(kry_saddle_params),
                                               fields, .check = check, .create = create };

kry_status kry_saddle_create(const kry_op *A, const kry_saddle_params *params, kry_op **M)
{
    return kryi_construct(&kryi_saddle_precond, A, params, M);
}
