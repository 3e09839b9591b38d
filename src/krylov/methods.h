/*
 * methods.h - the Krylov methods by their words in option strings. A new method is a line here, and a
 * file of its own.
 */
#ifndef KRY_METHODS_H
#define KRY_METHODS_H

/* X(word, identifier, number): the file defines `const kryi_method kryi_<identifier>_method`. Behind the word in
 * brackets the number that it may have (kryi_method.width). */
#define KRY_METHOD_LIST(X)                             \
    X("cg", pcg, KRY_METHOD_CG)                        \
    X("pcg", pcg, KRY_METHOD_PCG)                      \
    X("pipe-cg", pipe_cg, KRY_METHOD_PIPE_CG)          \
    X("block-cg", block_cg, KRY_METHOD_BLOCK_CG)       \
    X("cr", cr, KRY_METHOD_CR)                         \
    X("richardson", richardson, KRY_METHOD_RICHARDSON) \
    X("mg", richardson, KRY_METHOD_MG)                 \
    X("fmg", fmg, KRY_METHOD_FMG)                      \
    X("minres", minres, KRY_METHOD_MINRES)             \
    X("bicgstab[:L]", bicgstab, KRY_METHOD_BICGSTAB)   \
    X("tfqmr", tfqmr, KRY_METHOD_TFQMR)                \
    X("gmres[:M]", gmres, KRY_METHOD_GMRES)            \
    X("fgmres[:M]", fgmres, KRY_METHOD_FGMRES)         \
    X("idr[:S]", idr, KRY_METHOD_IDR)                  \
    X("lsqr", lsqr, KRY_METHOD_LSQR)                   \
    X("lsmr", lsmr, KRY_METHOD_LSMR)                   \
    X("direct", direct, KRY_METHOD_DIRECT)

#define KRY_METHOD_NUMBER(word, name, number) number,
enum { KRY_METHOD_LIST(KRY_METHOD_NUMBER) KRY_METHOD_COUNT };
#undef KRY_METHOD_NUMBER

#endif
