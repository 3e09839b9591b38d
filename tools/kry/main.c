/*
 * main.c - the program kry: find the command, run it, turn its status into the exit status.
 */
#include "commands.h"
#include "interrupt.h"
#include "ranks.h"
#include <stdio.h>
#include <string.h>

#define PROBLEMS                                                                                \
    "Problems:\n"                                                                               \
    "  poisson2d:N           five-point Laplacian on N x N points, known solution\n"            \
    "  poisson3d:N           seven-point Laplacian on N x N x N points, known solution\n"       \
    "  anisotropic2d:N:EPS   -u_xx - EPS u_yy on N x N points, known solution\n"                \
    "  twophase2d:N[:CONTRAST[:SHAPE]], twophase3d:...\n"                                       \
    "                        flow of two phases between walls, N cells a side; SHAPE layers,\n" \
    "                        layers-faces, stripes, bubble or bubbles\n"                        \
    "  poisson3d27:N         27 points, diagonal 26: the matrix of HPCG, known solution\n"      \
    "  plate2d:N             a plate that is bent, thirteen points, N x N, known solution\n"    \
    "  elasticity2d:NXxNY[:JUMP[:free]], elasticity3d:NXxNYxNZ[:JUMP[:free]]\n"                 \
    "                        a cantilever of finite elements, known solution\n"                 \
    "  geograph_spd:N        Laplacian of random points in a square, known solution\n"          \
    "  circuit_spd:N[:DECADES]\n"                                                               \
    "                        the same of wires, conductances over DECADES, default 6\n"         \
    "  random_spd:N:K        N rows, about K entries off the diagonal each, known solution\n"   \
    "  powerlaw_spd:N:K      the same, row lengths by a power law, a few very long\n"           \
    "  banded_spd:N:W        the same, a third of the places within W of the diagonal\n"        \
    "  block_spd:N:B         the same, dense B x B blocks, 27 to a row of blocks\n"             \
    "  convection2d:N:PECLET[:upwind|central], convection3d: not symmetric, known solution\n"   \
    "  helmholtz2d:N:K       -div grad u - K^2 u: symmetric, indefinite for K above 4.44\n"     \
    "  stokes2d:N            slow flow in N x N cells: a saddle point, symmetric indefinite\n"  \
    "  random:N:K            N rows, K entries off the diagonal each, not symmetric\n"

static const command commands[] = {
    { "solve", "FILE.mtx[.gz] | --problem SPEC [options]",
      "Solve A x = b by a Krylov method, and say how good x is.", FOR_SOLVE,
      "  kry solve A.mtx --rhs b.mtx -o x.mtx\n"
      "  kry solve --problem poisson2d:1024 --method pcg --html report.html\n",
      "Defaults: a file is solved by the method auto and a random right-hand side, a problem by "
      "cg\n"
      "with its own; one on a grid as a stencil, without a matrix. --precond alone means pcg.\n"
      "rtol 1e-8 (double) or 1e-5 (single).\n\n" PROBLEMS
      "\nCtrl-C ends the solve, and its last iterate is reported and written; again: at once.\n"
      "Exit status: 0 converged, 1 not converged, 2 bad usage or input, 3 device failure, 130 "
      "Ctrl-C.\n",
      solve_run },
    { "eigen",
      "FILE.mtx[.gz] | --problem SPEC [-k K] [--largest | --sigma S] [--mass FILE] [options]",
      "Find the smallest or largest eigenvalues of a symmetric matrix, or those nearest a number.",
      FOR_EIGEN,
      "  kry eigen A.mtx -k 10 --precond amg -o X.mtx\n"
      "  kry eigen --problem twophase2d:256 --constraints ones\n"
      "  kry eigen A.mtx --sigma 2.5\n",
      "By LOBPCG, whose preconditioner is auto, with --largest none, or Lanczos, without one. "
      "--rtol (1e-9, single 1e-5) is "
      "that "
      "of\n"
      "||A x - lambda B x|| to (||A|| + |lambda| ||B||) ||x||, --maxit 1000.\n\n" PROBLEMS
      "\nExit status: as that of kry solve.\n",
      eigen_run },
    { "info",
      "[FILE.mtx[.gz] | --problem SPEC] [--device SEL] [--check-precond] [--levels] [--json]",
      "Look at a matrix: size, symmetry, bandwidth, rows, diagonal. Needs no device.", FOR_INFO,
      "  kry info A.mtx\n"
      "  kry info A.mtx --device gpu\n",
      "With --device also the time that a product in each format should take there. --device\n"
      "without a matrix shows what was measured there, and where it is kept. --check-precond\n"
      "multiplies with a preconditioner instead, on the device; exit status 1: it is not "
      "symmetric\n"
      "or not positive definite. --levels lists the levels of multigrid.\n\n" PROBLEMS,
      info_run },
    { "generate", "SPEC -o FILE.mtx[.gz] [--rhs FILE] [--solution FILE] [--coordinates FILE]",
      "Write a generated problem as Matrix Market files.", FOR_GENERATE,
      "  kry generate poisson2d:64 -o A.mtx --rhs b.mtx --solution x.mtx\n"
      "  kry generate random_spd:10000:8 -o A.mtx.gz --seed 7\n",
      PROBLEMS, generate_run },
    { "devices", "[--json]", "List the OpenCL devices.", FOR_DEVICES,
      "  kry devices\n"
      "  kry devices --json\n",
      NULL, devices_run },
    { "bench",
      "stream|spmv|spgemm|setup|stencil|cg|solve|kernels|mtx|tridiagonal|systems|hpcg|amg2023 "
      "[FILE...] "
      "[--problem SPEC]... [options]",
      "Measure the device: vectors, products, iterations, kernels, files, many systems, HPCG, "
      "AMG2023.",
      FOR_BENCH,
      "  kry bench stream\n"
      "  kry bench spmv A.mtx --problem poisson3d:64 --json\n",
      "fraction_of_copy compares with the copy bandwidth measured in the same run.\n\n" PROBLEMS,
      bench_run },
    { "reproduce", "wang|akhtar|brodtkorb|cevahir|gupta [FILE...] [--problem SPEC]... [options]",
      "Measure what a paper measured: its tables beside ours.", FOR_REPRODUCE,
      "  kry reproduce wang --max-n 512\n"
      "  kry reproduce gupta --html gupta.html\n",
      "wang      table 1 and figures 8, 9, 11: CG for the Poisson equation on grids of N x N\n"
      "          points, iterations, errors and times; an iteration by each memory path.\n"
      "akhtar    table 1: temperatures in a cube; figures 12, 13, 16, 23, 24: the field, and how\n"
      "          fast fourteen kernels sweep over it, in single precision unless told otherwise.\n"
      "brodtkorb products, Gauss-Jordan, PLU and many tridiagonal systems beside the host's\n"
      "          LAPACK; figure 5: 30 systems solved by host, device, and both. Single precision\n"
      "          unless told otherwise.\n"
      "cevahir   figure 4: products in single precision, csr and jagged diagonals, over the\n"
      "          matrices given or stand-ins for theirs.\n"
      "gupta     table 1: deflated conjugate gradients on 512 x 512 points, stage by stage;\n"
      "          which vectors; flow of two phases; false convergence; mixed "
      "precision.\n\n" PROBLEMS,
      reproduce_run },
    { "tune", "[--device SEL] [--json]",
      "Find the launches that suit a device, and keep them for later runs.", FOR_TUNE,
      "  kry tune\n"
      "  kry tune --device gpu:1\n",
      "Takes a minute. Sums are added up in an order that depends on what is found, so their last\n"
      "bits may change. kry info --device SEL shows what is kept, and where.\n",
      tune_run },
    { "kernels", "[NAME] [--device SEL] [--precision single|double] [--json]",
      "List the kernels, or print the text of one as a device's compiler gets it.", FOR_KERNELS,
      "  kry kernels\n"
      "  kry kernels csr_apply --device gpu >csr.cl\n",
      "NAME is that of a file (csr, for formats/csr.cl) or of a kernel (csr_apply). The text has "
      "all\n"
      "files that this one includes; #line says where they begin. Of a kernel, GPUs get only the "
      "part\n"
      "of its file that it is in. The first line has the compiler's options, to which solvers and\n"
      "formats add -D options of their own.\n",
      kernels_run },
};

static void print_help(void)
{
    printf("kry %s: sparse Krylov solvers on OpenCL\n\n", kry_version());
    for (size_t i = 0; i < COUNT(commands); i++)
        printf("  kry %-9s %s\n                %s\n", commands[i].name, commands[i].usage,
               commands[i].summary);
    printf("\nkry help COMMAND tells more; kry version.\n");
}

/* 0 done and converged, 1 not converged, 2 bad usage or input, 3 device or internal failure. */
static int exit_status(kry_status st)
{
    switch (st) {
    case KRY_OK: return 0;
    case KRY_ERR_ARGUMENT:
    case KRY_ERR_SHAPE:
    case KRY_ERR_TYPE:
    case KRY_ERR_FILE:
    case KRY_ERR_PARSE:
    case KRY_ERR_UNSUPPORTED:
    case KRY_ERR_SINGULAR: return 2;
    default: return st > 0 ? 1 : 3;
    }
}

static kry_status find_command(const char *name, const command **cmd)
{
    static const char list[] =
        "solve, eigen, info, generate, devices, bench, reproduce, tune, kernels";
    char hint[64];
    for (size_t i = 0; i < COUNT(commands); i++)
        if (!strcmp(name, commands[i].name)) *cmd = &commands[i];
    if (*cmd) return KRY_OK;
    return kry_fail(KRY_ERR_PARSE, "unknown command \"%s\"; there are %s%s", name, list,
                    kry_word_hint(name, list, hint, sizeof hint));
}

static kry_status run(int argc, char **argv, const command **cmd)
{
    kry_status st = KRY_OK;
    options o = { 0 };
    CHECK(argc > 1, KRY_ERR_PARSE, "no command; kry --help lists them");
    bool help = !strcmp(argv[1], "help");
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version"))
        printf("kry %s\n", kry_version());
    else if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
             (help && (argc == 2 || !strcmp(argv[2], "help"))))
        print_help();
    else if (help) {
        TRY(find_command(argv[2], cmd));
        options_help(*cmd);
    } else {
        TRY(find_command(argv[1], cmd));
        o.argc = argc - 1;
        o.argv = (const char *const *)(argv + 1);
        TRY(options_parse(*cmd, argc - 2, argv + 2, &o));
        CHECK(ranks_count() == 1 || (*cmd)->run == solve_run || (*cmd)->run == bench_run,
              KRY_ERR_UNSUPPORTED, "%d ranks; only kry solve and kry bench cg run on several",
              ranks_count());
        if (o.help)
            options_help(*cmd);
        else
            st = (*cmd)->run(&o);
    }
done:
    return st;
}

int main(int argc, char **argv)
{
    const command *cmd = NULL;

    kry_messages_count_from(1); /* as the files that it reads */
    kry_status st = ranks_begin();
    if (st >= 0) st = run(argc, argv, &cmd);
    if (st >= 0 && (fflush(stdout) || ferror(stdout)))
        st = kry_fail(KRY_ERR_FILE, "cannot write to the standard output");
    if (st < 0 && ranks_report())
        fprintf(stderr, "kry%s%s: %s\n", cmd ? " " : "", cmd ? cmd->name : "", kry_last_error());
    ranks_end();
    return interrupt_came() && st >= 0 ? EXIT_INTERRUPTED : exit_status(st);
}
