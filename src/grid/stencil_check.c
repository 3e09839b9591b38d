/* stencil_check.c - what the parameters of a grid operator may be. */
#include "grid/stencil.h"
#include "team/team.h"
#include <math.h>

static kry_status check_axis(const char *who, const kry_stencil_params *p, int a)
{
    static const char name[] = "xyz";
    kry_status st = KRY_OK;

    CHECK(p->size[a] > 0, KRY_ERR_ARGUMENT, "%s: %lld unknowns along %c", who,
          (long long)p->size[a], name[a]);
    CHECK(p->spacing[a] >= 0 && isfinite(p->spacing[a]), KRY_ERR_ARGUMENT,
          "%s: the spacing along %c is %g", who, name[a], p->spacing[a]);
    CHECK(p->diffusion[a] >= 0 && isfinite(p->diffusion[a]), KRY_ERR_ARGUMENT,
          "%s: the diffusion along %c is %g", who, name[a], p->diffusion[a]);
    CHECK((unsigned)p->low[a] <= KRY_PERIODIC && (unsigned)p->high[a] <= KRY_PERIODIC,
          KRY_ERR_ARGUMENT, "%s: the sides of %c are %d and %d, which are none", who, name[a],
          (int)p->low[a], (int)p->high[a]);
    CHECK((p->low[a] == KRY_PERIODIC) == (p->high[a] == KRY_PERIODIC), KRY_ERR_ARGUMENT,
          "%s: one side of %c is periodic and the other is not", who, name[a]);
done:
    return st;
}

kry_status kryi_stencil_check_grid(const char *who, const kry_device *dev,
                                   const kry_stencil_params *p)
{
    kry_status st = KRY_OK;
    int64_t n = 1;

    for (int a = 0; a < (p->size[2] ? 3 : 2); a++) {
        TRY(check_axis(who, p, a));
        CHECK(p->size[a] <= INT32_MAX / n, KRY_ERR_ARGUMENT,
              "%s: %lld x %lld x %lld unknowns are 2^31 or more", who, (long long)p->size[0],
              (long long)p->size[1], (long long)p->size[2]);
        n *= p->size[a];
    }
    for (int a = 0; a < 3; a++)
        CHECK(dev->team || (p->blocks[a] >= 0 && p->blocks[a] <= 1), KRY_ERR_ARGUMENT,
              "%s: %d blocks along %c on one device", who, p->blocks[a], "xyz"[a]);
done:
    return st;
}

kry_status kryi_stencil_check_params(const kry_device *dev, kry_type type,
                                     const kry_stencil_params *p)
{
    kry_status st = KRY_OK;

    CHECK(!p->on_host || !dev->team, KRY_ERR_UNSUPPORTED,
          "kry_stencil_create: on_host is for one device, and this is a team of %d",
          kry_team_size(dev));
    if (p->on_host)
        CHECK(type == KRY_F64, KRY_ERR_TYPE,
              "kry_stencil_create: what stays on the host is in double");
    else
        TRY(kryi_type_check("kry_stencil_create", dev, type));
    TRY(kryi_stencil_check_grid("kry_stencil_create", dev, p));
    TRY(kryi_stencil_check_faces(p));
done:
    return st;
}
