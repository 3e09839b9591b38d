/*
 * preiter.h - CalculiX gives kry its mesh, too: the last line of CalculiX.h includes this.
 *
 * In all functions that call preiter, co, nk, nactdof and mi are the coordinates, how many nodes there are, the equations of
 * their unknowns, and how many of these a node has.
 */
void preiter_mesh(const double *co, const ITG *nk, const ITG *nactdof, const ITG *mi,
                  const double *ad, const double *au, double *b, const ITG *icol, const ITG *irow,
                  ITG neq, ITG nzs);
#define preiter(ad, au, b, icol, irow, neq, nzs, isolver, iperturb) \
    preiter_mesh(co, nk, nactdof, mi, ad, *(au), b, *(icol), *(irow), *(neq), *(nzs))
