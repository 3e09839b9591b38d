/* volume.c - what the parts of a team would tell each other, before there is a team. */
#include "sparse/entries.h"
#include "sparse/partition.h"
#include <stdlib.h>

static kry_status check(const kry_entries *e, int parts)
{
    kry_status st = KRY_OK;

    CHECK(e->given.rows >= 0 && e->given.rows <= INT32_MAX, KRY_ERR_ARGUMENT, "%s: %lld rows",
          e->who, (long long)e->given.rows);
    CHECK(e->given.row_ptr && (e->given.col || !e->nnz), KRY_ERR_ARGUMENT, "%s: NULL", e->who);
    TRY(kry_entries_check(e));
    CHECK(parts >= 1, KRY_ERR_ARGUMENT, "%s: %d parts", e->who, parts);
done:
    return st;
}

kry_status kry_team_volume(int64_t n, const int64_t *row_ptr, const int32_t *col, int parts,
                           bool by_graph, kry_part_volume *volume)
{
    kry_status st = KRY_OK;
    int32_t *part = NULL;
    int64_t *first = NULL;
    const int64_t nnz = row_ptr && n > 0 ? row_ptr[n] : 0;
    const kry_sparse A = {
        .rows = n, .cols = n, .row_ptr = (int64_t *)row_ptr, .col = (int32_t *)col
    };

    TRY(check(&(kry_entries){ "kry_team_volume", A, NULL, nnz }, parts));
    TRY(kry_alloc((size_t)n, sizeof *part, &part));
    TRY(kry_alloc((size_t)parts + 1, sizeof *first, &first));
    if (by_graph) {
        TRY(kry_partition_by_graph(&A, parts, NULL, part));
    } else {
        TRY(kry_partition_by_rows(n, row_ptr, parts, NULL, 1, first));
        for (int p = 0; p < parts; p++)
            for (int64_t i = first[p]; i < first[p + 1]; i++) part[i] = p;
    }
    TRY(kry_partition_volume(&A, parts, part, volume));
done:
    free(first);
    free(part);
    return st;
}
