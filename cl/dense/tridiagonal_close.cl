// tridiagonal_close.cl - periodic systems of one or two equations, to which tridiagonal.cl reduces longer ones.
// Host: src/dense/batch_levels.c. Rows and checks are those of tridiagonal.clh.

#include "common/kry.clh"
#include "dense/tridiagonal.clh"

// Solve periodic systems of one or two unknowns.
kernel void tridiagonal_close(SYSTEMS_PARAMS, global REAL *x, long x_first)
{
    FOR_EACH(s, systems)
    {
        REAL a[2], d[2], c[2], y[2], total = 0, excess = 0;
        for (int i = 0; i < 2; i++) {
            bool there = i < n;
            long o = s * m_system + (there ? i : 0) * m_row;
            a[i] = there ? lower[lower_first + o] : 0;
            d[i] = there ? diagonal[diagonal_first + o] : 1;
            c[i] = there ? upper[upper_first + o] : 0;
            y[i] = there ? b[b_first + s * system + i * row] : 0;
            CHECK_ROW(a[i], d[i], c[i], y[i])
        }
        if (n == 1) d[0] += a[0] + c[0], a[0] = 0, c[0] = 0;
        // Rows are scaled by their diagonals first, so that products of graded rows do not overflow.
        REAL p = 1 / d[0], q = 1 / d[1], ac0 = (a[0] + c[0]) * p, ac1 = (a[1] + c[1]) * q;
        REAL r = 1 / (1 - ac0 * ac1);
        y[0] *= p, y[1] *= q;
        CHECK_INVERSE(p);
        CHECK_INVERSE(q);
        CHECK_INVERSE(r);
        if (IS_BAD(total, excess)) mark(found, room, ticket, s);
        if (check && TICKET(s) == ticket) continue;
        x[x_first + s * system] = (y[0] - ac0 * y[1]) * r;
        if (n > 1) x[x_first + s * system + row] = (y[1] - ac1 * y[0]) * r;
    }
}
