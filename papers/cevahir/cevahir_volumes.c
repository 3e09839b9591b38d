/*
 * cevahir_volumes.c - section 4.2: how much of the direction devices have to send each other in an
 * iteration, with rows in contiguous blocks of equal cost, as theirs are, and in parts by METIS.
 */
#include "cevahir.h"
#include <math.h>
#include <stdio.h>

enum { MOST_PARTS = 4, WAYS = 2 };
static const char table_name[] = "section 4.2";
static const char *const ways[WAYS] = { "rows", "METIS" };

typedef struct volumes {
    double largest, total; /* words; NaN: not known */
    char refused[400];
} volumes;

static void measure(const sparse *A, int parts, bool by_graph, volumes *v)
{
    kry_status st = KRY_OK;
    kry_part_volume of[MOST_PARTS];
    *v = (volumes){ .largest = NAN, .total = NAN };
    TRY(kry_team_volume(A->rows, A->row_ptr, A->col, parts, by_graph, of));
    v->largest = v->total = 0;
    for (int p = 0; p < parts; p++) {
        v->largest = fmax(v->largest, (double)of[p].received);
        v->total += (double)of[p].received;
    }
done:
    if (st < 0) snprintf(v->refused, sizeof v->refused, "%s", kry_last_error());
}

static void print_cells(const bench *b, const char *row, int parts, int way, const volumes *v)
{
    char column[64];
    for (int all = 0; all < 2; all++) {
        snprintf(column, sizeof column, "%s, %d devices, %s", ways[way], parts,
                 all ? "all together" : "at most");
        cell one = { table_name, row,
                     column,     "words",
                     NAN,        all ? v->total : v->largest,
                     NAN,        v->refused[0] ? v->refused : NULL };
        reproduce_cell(b, "cevahir", &one);
    }
    reproduce_number(b, "%13.0f", v->largest);
}

static kry_status volume_row(const bench *b, const source *src)
{
    kry_status st = KRY_OK;
    sparse A = { 0 };
    volumes v;
    char refused[400] = "";
    TRY(sparse_of_source(src, &A));
    reproduce_say(b, "%-32.32s", cevahir_name(src->name));
    reproduce_number(b, "%13.0f", (double)A.rows);
    for (int t = 1; t < CEVAHIR_TEAMS; t++) {
        for (int way = 0; way < WAYS; way++) {
            measure(&A, cevahir_devices[t], way == 1, &v);
            print_cells(b, src->name, cevahir_devices[t], way, &v);
            if (v.refused[0]) snprintf(refused, sizeof refused, "%s", v.refused);
        }
    }
    reproduce_say(b, "\n");
    if (refused[0]) cevahir_refused(b, cevahir_name(src->name), refused);
done:
    kryi_host_matrix_release(&A);
    return st;
}

kry_status cevahir_volumes(bench *b)
{
    reproduce_say(b, "\n%s: words that a device receives in an iteration, at most\n\n%-32s%13s",
                  table_name, "matrix", "rows");
    for (int t = 1; t < CEVAHIR_TEAMS; t++)
        for (int way = 0; way < WAYS; way++)
            reproduce_say(b, "%8s of %d", ways[way], cevahir_devices[t]);
    reproduce_say(b, "\n");
    return cevahir_sources(b, NULL, 0, volume_row);
}
