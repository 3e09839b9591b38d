// zero.cl - the first stage of formats that only know entries: every row, and nothing in it.
// Host: src/matrix/coo.c.

#include "common/kry.clh"

#define FORMAT zero
#define MATRIX int work
#define MATRIX_LOCALS
#ifdef KRY_CPU
#define EACH_ROW FOR_EACH(row, work)
#else
#define EACH_ROW for (int row = FIRST_ROW_HERE; row < work; row += ROWS_OF_ALL)
#endif
#define MATRIX_ROWS(GET, DO) \
    EACH_ROW                 \
    {                        \
        SUM sum = 0;         \
        DO(row, sum)         \
    }

#include "formats/product.clh"
