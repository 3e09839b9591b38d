/* subspace.c - Z'v and Z c for sub-domains by labels, and for dense vectors by span.c or, for many, by GEMV.
 * Kernels: cl/precond/deflation.cl. */
#include "precond/labels_device.h"
#include "precond/span.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- labels: pieces and segments ------------------------------------------------------------- */

/* Sub-domains of up to 256 pieces are one segment each. Larger ones are cut into several, so that a few
 * sub-domains keep the whole device busy. */
static int64_t pieces_per_segment(const kryi_pieces *p)
{
    enum { LEAST = 256, ENOUGH = 2048 };
    int64_t share = p->count / ENOUGH;
    return share > LEAST ? share : LEAST;
}

/* A label without pieces is one segment, too. */
static int64_t segments_of(const kryi_pieces *p, int64_t label, int64_t per)
{
    int64_t pieces = p->of_label[label + 1] - p->of_label[label];
    return pieces ? (pieces + per - 1) / per : 1;
}

/* Room for the sums of the segments, of so many columns. */
static kry_status make_part(kryi_subspace *Z, int64_t columns)
{
    kry_status st = KRY_OK;

    if (Z->part_columns >= columns) return KRY_OK;
    kryi_buffer_release(Z->dev, &Z->part);
    Z->part_columns = 0;
    TRY(kryi_buffer_create(
        Z->dev, (uint64_t)(Z->segments * Z->per * columns) * sizeof(kryi_partial), &Z->part));
    Z->part_columns = columns;
done:
    return st;
}

static kry_status make_segments(kryi_subspace *Z, const kryi_pieces *p)
{
    kry_status st = KRY_OK;
    int64_t per = pieces_per_segment(p), count = 0;
    cl_int *segment = NULL, *of_label = NULL;

    for (int64_t s = 0; s < Z->domains; s++) count += segments_of(p, s, per);
    TRY(kryi_alloc((size_t)count + 1, sizeof *segment, &segment));
    TRY(kryi_alloc((size_t)Z->domains + 1, sizeof *of_label, &of_label));
    Z->segments = 0;
    for (int64_t s = 0; s < Z->domains; s++) {
        of_label[s] = Z->segments;
        for (int64_t j = segments_of(p, s, per), at = p->of_label[s]; j > 0; j--, at += per)
            segment[Z->segments++] = (cl_int)at;
        if (p->of_label[s] < p->of_label[s + 1]) Z->filled += Z->segments - of_label[s];
    }
    of_label[Z->domains] = Z->segments;
    segment[Z->segments] = (cl_int)p->count;
    TRY(kryi_buffer_upload(Z->dev, ((size_t)count + 1) * sizeof *segment, segment, &Z->segment));
    if (count == Z->domains) goto done;
    TRY(kryi_buffer_upload(Z->dev, ((size_t)Z->domains + 1) * sizeof *of_label, of_label,
                           &Z->label_segment));
    TRY(make_part(Z, 1));
done:
    free(segment);
    free(of_label);
    return st;
}

/* Work-items for each segment: so many that each has a piece on average, or more. */
static int tile_of(const kryi_subspace *Z)
{
    int tile = 1, group = kryi_group_size(Z->dev);
    while (tile < group && (double)tile * (double)Z->filled < Z->piece_count) tile *= 2;
    return tile;
}

static kry_status make_kernels(kryi_subspace *Z)
{
    const kryi_named_kernel all[] = { { "deflation_restrict", &Z->kernel.restrict_ },
                                      { "deflation_finish", &Z->kernel.finish },
                                      { "deflation_prolong", &Z->kernel.prolong },
                                      { "deflation_correct", &Z->kernel.correct },
                                      { "deflation_add", &Z->kernel.add } };
    const char *defines = kryi_labels_are_narrow(Z->domains) ? "-DLABEL=ushort" : "-DLABEL=int";

    return kryi_kernels_get(Z->dev, "deflation", Z->type, defines, all, COUNT(all));
}

/* The pieces and Z->label. label: as given, on the device; NULL: only the host has them. */
static kry_status prepare_labels(kryi_subspace *Z, cl_mem label, kryi_pieces *p)
{
    kry_status st = KRY_OK;
    cl_mem given = NULL;

    if (!label)
        TRY(kryi_buffer_upload(Z->dev, (size_t)Z->n * sizeof *Z->labels, Z->labels, &given));
    if (!label) label = given;
    TRY(kryi_labels_pieces(Z->dev, Z->n, Z->domains, label, p));
    TRY(kryi_labels_store(Z->dev, Z->n, Z->domains, label, &Z->label));
done:
    kryi_buffer_release(Z->dev, &given);
    return st;
}

static kry_status copy_labels(const kryi_subdomains *s, kryi_subspace *Z)
{
    kry_status st = KRY_OK;
    size_t all = (size_t)(Z->n + s->beyond);

    TRY(kryi_alloc(all, sizeof *Z->labels, &Z->labels));
    memcpy(Z->labels, s->labels, all * sizeof *Z->labels);
done:
    return st;
}

static kry_status take_labels(const kryi_subdomains *s, kryi_subspace *Z)
{
    kry_status st = KRY_OK;
    kryi_pieces p = { 0 };

    if (s->labels) TRY(copy_labels(s, Z));
    if (s->modes) {
        TRY(kry_vec_create(Z->dev, Z->type, Z->n, Z->per, &Z->modes));
        TRY(kryi_vec_write_doubles(Z->modes, s->modes));
    }
    TRY(prepare_labels(Z, s->label, &p));
    Z->piece_count = (double)p.count;
    Z->piece_start = p.start, Z->piece_length = p.length, p.start = p.length = NULL;
    TRY(kryi_buffer_create(Z->dev, (size_t)Z->k * kry_type_size(Z->type), &Z->kept));
    TRY(make_segments(Z, &p));
    TRY(make_kernels(Z));
done:
    kryi_buffer_release(Z->dev, &p.length);
    kryi_buffer_release(Z->dev, &p.start);
    free(p.of_label);
    return st;
}

/* ---- vectors --------------------------------------------------------------------------------- */

static kry_status take_vectors(const kry_vec *vectors, kryi_subspace *Z)
{
    kry_status st = KRY_OK;

    for (int64_t j = 0; j < Z->k; j++) {
        kry_vec v = kryi_vec_column(vectors, j);
        double norm;
        TRY(kry_vec_norm2(&v, &norm));
        CHECK(norm > 0 && isfinite(norm), KRY_ERR_ARGUMENT,
              "kry_deflation_create: deflation vector %lld has norm %g", (long long)j, norm);
    }
    TRY(kry_vec_create(Z->dev, Z->type, Z->n, Z->k, &Z->vectors));
    TRY(kry_vec_copy(vectors, Z->vectors));
    if (kryi_span_takes(Z->vectors)) TRY(kry_sum_create(Z->dev, (int)Z->k, &Z->sum));
done:
    return st;
}

kry_status kryi_subspace_create(kry_device *dev, kry_type type, int64_t n, const kryi_subdomains *s,
                                kryi_subspace *Z)
{
    kry_status st = KRY_OK;

    *Z = (kryi_subspace){ .dev = dev, .type = type, .n = n };
    Z->domains = s->count, Z->per = s->modes ? s->per : 1;
    Z->k = s->vectors ? s->vectors->k : Z->domains * Z->per;
    TRY(s->vectors ? take_vectors(s->vectors, Z) : take_labels(s, Z));
done:
    if (st < 0) kryi_subspace_release(Z);
    return st;
}

void kryi_subspace_release(kryi_subspace *Z)
{
    cl_mem *buffers[] = { &Z->label,         &Z->piece_start, &Z->piece_length, &Z->segment,
                          &Z->label_segment, &Z->part,        &Z->kept };

    if (!Z->dev) return;
    for (size_t i = 0; i < COUNT(buffers); i++) kryi_buffer_release(Z->dev, buffers[i]);
    kry_vec_release(&Z->modes);
    kry_sum_release(&Z->sum);
    kry_vec_release(&Z->vectors);
    free(Z->labels);
    *Z = (kryi_subspace){ 0 };
}

/* The buffer of the modes, NULL where there are none; how many there are; and how far it is from one to the next. */
static cl_mem modes_of(const kryi_subspace *Z) { return Z->modes ? Z->modes->buffer : NULL; }
static cl_long distance_of(const kryi_subspace *Z) { return Z->modes ? Z->modes->ld : 0; }

/* ---- products -------------------------------------------------------------------------------- */

static int64_t restrict_groups(const kryi_subspace *Z)
{
    if (Z->dev->info.cpu_kernels) return kryi_groups_for(Z->dev, Z->type, Z->n);
    int per_group = kryi_group_size(Z->dev) / tile_of(Z);
    return ((int64_t)Z->segments * Z->per + per_group - 1) / per_group;
}

kry_status kryi_subspace_restrict(kryi_subspace *Z, const kry_vec *v, kry_vec *w)
{
    kry_status st = KRY_OK;
    const cl_int sums = Z->segments * Z->per;
    const cl_long ld = distance_of(Z);
    const int64_t groups = kryi_groups_for(Z->dev, Z->type, Z->k);

    if (Z->vectors) return kryi_dense_restrict(1, Z->vectors, v, 0, w, Z->sum);
    if (Z->part) TRY(make_part(Z, v->k));
    const cl_mem modes = modes_of(Z);
    const cl_int per = Z->per, tile = tile_of(Z);
    const kry_arg args[] = { ARG(sums),
                             ARG(tile),
                             ARG(per),
                             ARG(Z->segment),
                             ARG(Z->piece_start),
                             ARG(Z->piece_length),
                             ARG(modes),
                             ARG(ld),
                             ARG_VEC(v),
                             ARG(v->ld),
                             ARG_VEC(w),
                             ARG(w->ld),
                             ARG(Z->kept),
                             ARG(Z->part) };
    TRY(kryi_launch_range(Z->dev, Z->kernel.restrict_,
                          (kryi_range){ restrict_groups(Z), .columns = v->k }, args, COUNT(args)));
    if (!Z->part) return KRY_OK;
    const kry_arg finish[] = { ARG(Z->k),  ARG(per),     ARG(Z->label_segment),
                               ARG(sums),  ARG(Z->part), ARG_VEC(w),
                               ARG(w->ld), ARG(Z->kept) };
    TRY(kryi_launch_range(Z->dev, Z->kernel.finish, (kryi_range){ groups, .columns = v->k }, finish,
                          COUNT(finish)));
done:
    return st;
}

kry_status kryi_subspace_prolong(kryi_subspace *Z, double alpha, const kry_vec *c, double beta,
                                 kry_vec *y)
{
    kryi_scalar a = kryi_scalar_of(Z->dev, alpha), b = kryi_scalar_of(Z->dev, beta);
    const cl_mem modes = modes_of(Z);
    const cl_int per = Z->per;
    const cl_long ld = distance_of(Z);
    const kry_arg args[] = { ARG(Z->n),  ARG(Z->label), ARG(per),
                             ARG(modes), ARG(ld),       ARG_ACC(Z->dev, a),
                             ARG_VEC(c), ARG(c->ld),    ARG_ACC(Z->dev, b),
                             ARG_VEC(y), ARG(y->ld) };

    if (Z->vectors) return kryi_dense_expand(alpha, Z->vectors, c, beta, y);
    return kryi_launch_range(
        Z->dev, Z->kernel.prolong,
        (kryi_range){ kryi_groups_for(Z->dev, Z->type, Z->n), .columns = y->k }, args, COUNT(args));
}

kry_status kryi_subspace_correct(kryi_subspace *Z, const kry_vec *c, const kry_vec *r, kry_vec *z,
                                 kry_sum *sum)
{
    kry_status st = KRY_OK;
    const kry_arg args[] = { ARG(Z->n),  ARG(Z->label), ARG_VEC(c),
                             ARG_VEC(r), ARG_VEC(z),    ARG(sum->buffer) };

    /* Modes, and unaligned vectors, which no solver works with, take two passes. */
    if (Z->vectors || Z->modes || *kryi_vec_alignment((const kry_vec *[]){ r, z }, 2)) {
        TRY(kryi_subspace_prolong(Z, 1, c, 1, z));
        return kryi_vec_dot_pair(r, z, sum);
    }
    sum->count = (cl_int)kryi_groups_for_sums(Z->dev, Z->type, Z->n);
    TRY(kryi_launch(Z->dev, Z->kernel.correct, sum->count, args, COUNT(args)));
done:
    return st;
}

kry_status kryi_subspace_add(kryi_subspace *Z, const kry_vec *c, kry_vec *z, kry_sum *sum)
{
    enum { WRITERS = 32 };
    kry_status st = KRY_OK;
    int64_t groups = kryi_groups_for_sums(Z->dev, Z->type, Z->n);
    const cl_int writers = groups < WRITERS ? (cl_int)groups : WRITERS;
    const cl_mem modes = modes_of(Z);
    const cl_int per = Z->per;
    const cl_long ld = distance_of(Z);
    const kry_arg args[] = { ARG(Z->n),  ARG(Z->label),   ARG(per),     ARG(modes),
                             ARG(ld),    ARG(Z->k),       ARG_VEC(c),   ARG(Z->kept),
                             ARG_VEC(z), ARG(sum->count), ARG(writers), ARG(sum->buffer) };

    TRY(kryi_launch(Z->dev, Z->kernel.add, groups, args, COUNT(args)));
    sum->count += writers;
done:
    return st;
}

double kryi_subspace_restrict_bytes(const kryi_subspace *Z)
{
    double number = (double)kry_type_size(Z->type), n = (double)Z->n, k = (double)Z->k;
    if (Z->vectors) return (n * k + n + k) * number;
    double modes = Z->modes ? Z->per * n * number : 0;
    return n * number + 5 * Z->piece_count + k * number + modes;
}

double kryi_subspace_correct_bytes(const kryi_subspace *Z)
{
    double number = (double)kry_type_size(Z->type), n = (double)Z->n, k = (double)Z->k;
    if (Z->vectors) return (n * k + 4 * n) * number;
    double modes = Z->modes ? (Z->per + 2) * n * number : 0;
    return n * (3 * number + (kryi_labels_are_narrow(Z->domains) ? 2 : 4)) + k * number + modes;
}
