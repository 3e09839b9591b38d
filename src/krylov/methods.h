/*
 * methods.h - the Krylov methods by their words in option strings. A new method is a line here, and a
 * file of its own.
 */
#ifndef KRY_METHODS_H
#define KRY_METHODS_H

/* X(word, identifier): the file defines `const kry_method kry_<identifier>_method`. Behind the word in
 * brackets the number that it may have (kry_method.width). */
#define KRY_METHOD_LIST(X)      \
    X("cg", pcg)                \
    X("pcg", pcg)               \
    X("cr", cr)                 \
    X("richardson", richardson) \
    X("mg", richardson)         \
    X("minres", minres)         \
    X("bicgstab[:L]", bicgstab) \
    X("gmres[:M]", gmres)       \
    X("fgmres[:M]", fgmres)     \
    X("idr[:S]", idr)

#endif
