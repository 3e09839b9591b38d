// zero.cl - the first stage of formats that only know entries: every row, and nothing in it.
// Host: src/matrix/coo.c.

#define FORMAT zero
#define MATRIX int work
#define MATRIX_LOCALS
#define MATRIX_ROWS(GET, DO) \
    FOR_EACH(row, work)      \
    {                        \
        SUM sum = 0;         \
        DO(row, sum)         \
    }
