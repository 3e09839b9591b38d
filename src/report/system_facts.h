/*
 * system_facts.h - what is told of the operator of a solve: the entries of a matrix, or a grid.
 */
#ifndef KRY_REPORT_SYSTEM_H
#define KRY_REPORT_SYSTEM_H

#include "grid/stencil.h"
#include "page/facts.h"
#include "report/spy.h"

typedef struct system_facts {
    const kry_stencil *grid; /* borrowed; NULL: it is none, */
    bool matrix;             /* but a stored matrix, of which there is what follows; or neither */
    facts m;
    bool whole; /* else symmetry and storage are not known: its rows are on ranks */
    spy *spy;   /* owned; NULL: more ranks than it is made for */
    /* Of a whole matrix: rows of each length from m.row_min on, where these are few; seconds of a product by format. */
    double of_length[FACTS_FEW];
    bool predicted;
    double seconds[KRY_FORMAT_COUNT];
} system_facts;

/* Look at A, whose entries are read back. Collective on ranks. */
kry_status kry_system_facts_find(const kry_op *A, system_facts *s);
void kry_system_facts_release(system_facts *s);

#endif
