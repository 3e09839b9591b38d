/* rigid_body.c - the motions of a body that do not deform it. */
#include "base/base.h"
#include <kry/multigrid.h>
#include <math.h>

kry_status kry_rigid_body_modes(int axes, int64_t nodes, const double *coordinates, double *modes)
{
    kry_status st = KRY_OK;
    double centre[3];

    TRY(GIVEN(coordinates));
    TRY(GIVEN(modes));
    CHECK(axes == 2 || axes == 3, KRY_ERR_ARGUMENT,
          "kry_rigid_body_modes: axes = %d; there are 2 or 3", axes);
    CHECK(nodes >= 0 && nodes <= INT64_MAX / 64, KRY_ERR_ARGUMENT,
          "kry_rigid_body_modes: %lld nodes", (long long)nodes);
    const int64_t n = axes * nodes;
    const int rotations = axes == 2 ? 1 : 3;
    for (int64_t i = 0; i < n; i++)
        CHECK(isfinite(coordinates[i]), KRY_ERR_ARGUMENT,
              "kry_rigid_body_modes: coordinate %lld of node %lld is %g", (long long)(i % axes),
              (long long)(i / axes), coordinates[i]);
    for (int64_t i = 0; i < n * (axes + rotations); i++) modes[i] = 0;
    /* The mean of each coordinate: about it, rotations have no part along the translations. */
    for (int a = 0; a < axes; a++) centre[a] = 0;
    for (int64_t i = 0; i < nodes; i++)
        for (int a = 0; a < axes; a++) centre[a] += coordinates[i * axes + a] / (double)nodes;
    for (int64_t i = 0; i < nodes; i++) {
        for (int a = 0; a < axes; a++) modes[a * n + i * axes + a] = 1;
        for (int r = 0; r < rotations; r++) { /* in the plane of the axes p and q */
            const int p = r == 2 ? 2 : r, q = r == 2 ? 0 : r + 1;
            double *mode = modes + (axes + r) * n + i * axes;
            mode[p] = centre[q] - coordinates[i * axes + q];
            mode[q] = coordinates[i * axes + p] - centre[p];
        }
    }
done:
    return st;
}
