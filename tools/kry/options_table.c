/*
 * options_table.c - all options there are, those of the library's solvers from its own table; help.
 */
#include "options.h"
#include "page/text.h"
#include "wrapped.h"
#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(options, field)
static const option table[] = {
    { "problem", 0, LIST, AT(problems),
      FOR_SOLVE | FOR_EIGEN | FOR_INFO | FOR_BENCH | FOR_REPRODUCE, ABOUT_SYSTEM, "SPEC", false,
      "a generated problem, see below" },
    { "count", 'k', WHOLE, AT(columns), FOR_EIGEN, ABOUT_SYSTEM, "K", false,
      "so many eigenvalues, 1 to 64 (default 6)" },
    { "largest", 0, FLAG, AT(largest), FOR_EIGEN, ABOUT_SYSTEM, NULL, false,
      "the largest, the largest first (default: the smallest)" },
    { "sigma", 0, REAL, AT(sigma), FOR_EIGEN, ABOUT_SYSTEM, "S", false,
      "the eigenvalues nearest S, the nearest first, by factors of A - S B" },
    { "method", 0, TEXT, AT(eigen_method), FOR_EIGEN, ABOUT_METHOD, "lobpcg|lanczos", true,
      "(default lobpcg, with --sigma lanczos)" },
    { "mass", 0, TEXT, AT(mass), FOR_EIGEN, ABOUT_SYSTEM, "FILE", false,
      "B of A x = lambda B x, positive definite (default: the identity)" },
    { "constraints", 0, TEXT, AT(constraints), FOR_EIGEN, ABOUT_SYSTEM, "FILE|ones", false,
      "look for vectors that are orthogonal to these" },
    { "rhs", 0, TEXT, AT(rhs), FOR_SOLVE, ABOUT_SYSTEM, "FILE|ones|random|manufactured", false,
      "right-hand side; manufactured: A times a random x, so that the error is known" },
    { "rhs", 0, TEXT, AT(rhs), FOR_GENERATE, ABOUT_OUTPUT, "FILE", false,
      "write the right-hand side too" },
    { "solution", 0, TEXT, AT(solution), FOR_GENERATE, ABOUT_OUTPUT, "FILE", false,
      "write the known solution too" },
    { "check-precond", 0, FLAG, AT(check_precond), FOR_INFO, ABOUT_SYSTEM, NULL, false,
      "test whether --precond (default jacobi) is symmetric and positive definite" },
    { "levels", 0, FLAG, AT(levels), FOR_INFO, ABOUT_SYSTEM, NULL, false,
      "what multigrid (--precond mg, amg) makes of it: rows, entries, bytes of each level" },
    { "precision", 0, TEXT, AT(precision),
      FOR_EIGEN | FOR_BENCH | FOR_REPRODUCE | FOR_INFO | FOR_KERNELS, ABOUT_METHOD, "single|double",
      true, "numbers on the device (default double)" },
    { "outer", 0, TEXT, AT(outer), FOR_SOLVE, ABOUT_EXPERT, "device|host", true,
      "mixed: where x and its residual are kept (default device, if it has double)" },
    { "format", 0, TEXT, AT(format), FOR_SOLVE | FOR_EIGEN | FOR_BENCH | FOR_INFO, ABOUT_SYSTEM,
      "WORD", false,
      "stencil (none, on grids), or storage: auto, measure, csr, dia, symdia, ell, sell, ..." },
    { "blocks", 0, TEXT, AT(blocks), FOR_SOLVE | FOR_BENCH, ABOUT_DEVICE, "AxBxC", false,
      "cut a grid into so many blocks along x, y and z, one for each device or rank (default: by "
      "what they send)" },
    { "block-size", 0, WHOLE, AT(block_size), FOR_SOLVE | FOR_EIGEN | FOR_INFO, ABOUT_SYSTEM, "N",
      false, "unknowns of a node, numbered one after the other (default: by the pattern)" },
    { "duplicates", 0, TEXT, AT(duplicates), FOR_SOLVE | FOR_EIGEN | FOR_INFO, ABOUT_SYSTEM,
      "refuse|add", true,
      "entries of a file at one place: a mistake (default), or parts of a sum, as finite elements "
      "leave them" },
    { "coordinates", 0, TEXT, AT(coordinates), FOR_SOLVE | FOR_EIGEN | FOR_INFO, ABOUT_SYSTEM,
      "FILE", false,
      "of the nodes of a solid, a row of 2 or 3 for each: --precond amg takes its rigid body "
      "modes" },
    { "coordinates", 0, TEXT, AT(coordinates), FOR_GENERATE, ABOUT_OUTPUT, "FILE", false,
      "write the coordinates of the nodes too" },
    { "maxit", 0, WHOLE, AT(maxit), FOR_BENCH, ABOUT_STOPPING, "N", false,
      "iterations of the solve (kernels; default 50)" },
    { "seconds", 0, WHOLE, AT(seconds), FOR_BENCH, ABOUT_STOPPING, "S", false,
      "how long the timed part takes (hpcg; default 60)" },
    { "seed", 0, WHOLE, AT(seed), FOR_ALL & ~(FOR_DEVICES | FOR_KERNELS), ABOUT_EXPERT, "S", false,
      "for everything random (default 1)" },
    { "n", 0, WHOLE, AT(n), FOR_BENCH, ABOUT_SYSTEM, "N", false,
      "length of the vectors that are copied, added, ...; number of entries (mtx)" },
    { "n", 0, WHOLE, AT(n), FOR_REPRODUCE, ABOUT_SYSTEM, "N", false,
      "points on a side of the cube, with --svg also N/2 and N/4 (akhtar)" },
    { "hot", 0, FLAG, AT(hot), FOR_BENCH, ABOUT_EXPERT, NULL, false,
      "one copy of the matrix and the vectors, which caches may hold (spmv, stencil)" },
    { "columns", 0, WHOLE, AT(columns), FOR_BENCH, ABOUT_SYSTEM, "K", false,
      "vectors that A is multiplied with at once (spmv, stencil), or right-hand sides (solve, "
      "kernels); "
      "default 1" },
    { "reproducible", 0, FLAG, AT(reproducible), FOR_BENCH, ABOUT_EXPERT, NULL, false,
      "once more with the same bits on any number of devices, and the ratio (cg)" },
    { "svg", 0, TEXT, AT(svg), FOR_BENCH, ABOUT_OUTPUT, "FILE", false,
      "draw the results (spmv, stencil)" },
    { "svg", 0, TEXT, AT(svg), FOR_REPRODUCE, ABOUT_OUTPUT, "PREFIX", false,
      "draw the figures: PREFIX-....svg (wang, akhtar, gupta)" },
    { "max-n", 0, WHOLE, AT(max_n), FOR_REPRODUCE, ABOUT_SYSTEM, "N", false,
      "points along a side of the largest grid, rows of the largest dense matrix (wang, gupta, "
      "brodtkorb; default: what suits the device)" },
    { "device", 0, TEXT, AT(device), FOR_ALL & ~(FOR_DEVICES | FOR_GENERATE), ABOUT_DEVICE, "SEL",
      false, "gpu, cpu, gpu:1 or a part of a name, see kry devices (default $KRY_DEVICE)" },
    { "out", 'o', TEXT, AT(out), FOR_SOLVE, ABOUT_OUTPUT, "FILE", false,
      "write the solution (Matrix Market)" },
    { "out", 'o', TEXT, AT(out), FOR_EIGEN, ABOUT_OUTPUT, "FILE", false,
      "write the eigenvectors (Matrix Market)" },
    { "out", 'o', TEXT, AT(out), FOR_GENERATE, ABOUT_OUTPUT, "FILE", false,
      "the matrix; gzip'd if .gz" },
    { "plot", 0, TEXT, AT(plot), FOR_SOLVE, ABOUT_OUTPUT, "FILE.svg", false,
      "draw the convergence history" },
    { "html", 0, TEXT, AT(html), FOR_SOLVE, ABOUT_OUTPUT, "FILE.html", false,
      "write one page that tells all of it: convergence, times, kernels, the matrix" },
    { "html", 0, TEXT, AT(html), FOR_BENCH | FOR_REPRODUCE, ABOUT_OUTPUT, "FILE.html", false,
      "write the results as one page in place of text (with --json: besides)" },
    { "verbose", 'v', FLAG, AT(verbose), FOR_SOLVE, ABOUT_OUTPUT, NULL, false,
      "say what the solver is made of: preconditioner, deflation, tolerances, precision" },
    { "json", 0, FLAG, AT(json), FOR_ALL, ABOUT_OUTPUT, NULL, false, "one JSON object per line" },
    { "help", 'h', FLAG, AT(help), FOR_ALL, ABOUT_OUTPUT, NULL, false, "this text" },
};
#undef AT

/* Which commands take a word of kry_solver_create as an option: kry solve all of them. */
static unsigned commands_of_word(const char *name)
{
    static const char *const of_bench[] = { "method", "precond", "deflation", "null-space",
                                            "resident" };
    unsigned commands = FOR_SOLVE;

    for (size_t i = 0; i < COUNT(of_bench); i++)
        if (!strcmp(name, of_bench[i])) commands |= FOR_BENCH;
    if (!strcmp(name, "resident")) commands |= FOR_REPRODUCE;
    if (!strcmp(name, "rtol") || !strcmp(name, "maxit")) commands |= FOR_EIGEN;
    return strcmp(name, "precond") ? commands : commands | FOR_INFO | FOR_EIGEN;
}

static option_group group_of_word(const char *name)
{
    static const char *const stopping[] = { "rtol", "atol", "maxit", "stop", "check-every" },
                             *const expert[] = { "check", "resident",   "guess",
                                                 "omega", "conlim",     "scheme",
                                                 "inner", "inner-rtol", "delta" };

    for (size_t i = 0; i < COUNT(stopping); i++)
        if (!strcmp(name, stopping[i])) return ABOUT_STOPPING;
    for (size_t i = 0; i < COUNT(expert); i++)
        if (!strcmp(name, expert[i])) return ABOUT_EXPERT;
    return ABOUT_METHOD;
}

bool options_get(int i, option *opt)
{
    static const option_kind kinds[] = { [KRY_WORD_CHOICE] = TEXT,
                                         [KRY_WORD_REAL] = REAL,
                                         [KRY_WORD_WHOLE] = WHOLE,
                                         [KRY_WORD_TEXT] = TEXT };
    const int own = COUNT(table);
    const kry_word *word = i < own || i - own >= MAX_SOLVER_WORDS ? NULL : kry_solver_word(i - own);

    if (i < own) *opt = table[i];
    if (word)
        *opt = (option){ .name = word->name,
                         .kind = kinds[word->kind],
                         .offset =
                             offsetof(options, solver) + (size_t)(i - own) * sizeof(const char *),
                         .commands = commands_of_word(word->name),
                         .group = group_of_word(word->name),
                         .value = word->form + strlen(word->name) + 1,
                         .closed = word->kind == KRY_WORD_CHOICE,
                         .help = word->meaning };
    return i < own || word;
}

/* ---- help ------------------------------------------------------------------------- */

/* The meaning of what was printed on this line, `used` characters of it. */
static void print_meaning(int used, const char *help)
{
    enum { INDENT = 30, LINE = 100 };

    printf("%*s", used < INDENT ? INDENT - used : 0, "");
    if (used >= INDENT) printf("\n%*s", INDENT, "");
    text_wrapped(help, LINE - INDENT, INDENT);
}

static void print_words(const char *title, const kry_word *(*word)(int i))
{
    printf("\n%s:\n", title);
    for (int i = 0; word(i); i++) print_meaning(printf("  %s", word(i)->form), word(i)->meaning);
}

static bool same_settings(const char *precond, const char *other)
{
    int i = 0;

    while (kry_precond_setting(precond, i) &&
           kry_precond_setting(precond, i) == kry_precond_setting(other, i))
        i++;
    return kry_precond_setting(precond, i) == kry_precond_setting(other, i);
}

/* Those that have the same settings stand in one title. */
static void print_settings(void)
{
    for (int i = 0; kry_precond_word(i); i++) {
        const char *name = kry_precond_word(i)->name;
        int first = 0;
        while (!same_settings(name, kry_precond_word(first)->name)) first++;
        if (first < i || !kry_precond_setting(name, 0)) continue;
        printf("\nSettings of %s", name);
        for (int j = i + 1; kry_precond_word(j); j++)
            if (same_settings(name, kry_precond_word(j)->name))
                printf(", %s", kry_precond_word(j)->name);
        printf(", with commas between:\n");
        for (int j = 0; kry_precond_setting(name, j); j++)
            print_meaning(printf("  %s", kry_precond_setting(name, j)->form),
                          kry_precond_setting(name, j)->meaning);
    }
}

static void print_option(const option *opt)
{
    int used = printf("  ");

    if (opt->letter) used += printf("-%c, ", opt->letter);
    used += printf("--%s", opt->name);
    if (opt->value) used += printf(" %s", opt->value);
    print_meaning(used, opt->help);
}

static void print_group(const command *cmd, option_group group)
{
    static const char *const titles[ABOUT_COUNT] = {
        [ABOUT_SYSTEM] = "Options, the system",     [ABOUT_METHOD] = "Options, the method",
        [ABOUT_STOPPING] = "Options, when to stop", [ABOUT_OUTPUT] = "Options, output",
        [ABOUT_DEVICE] = "Options, devices",        [ABOUT_EXPERT] = "Options, for experts"
    };
    bool any = false;
    option opt;

    for (int i = 0; options_get(i, &opt); i++) {
        if (!(opt.commands & cmd->bit) || opt.group != group) continue;
        if (!any) printf("\n%s:\n", titles[group]);
        any = true;
        print_option(&opt);
    }
}

void options_help(const command *cmd)
{
    printf("kry %s %s\n\n%s\n\n", cmd->name, cmd->usage, cmd->summary);
    printf("Examples:\n%s", cmd->examples);
    for (option_group group = 0; group < ABOUT_COUNT; group++) print_group(cmd, group);
    if (commands_of_word("precond") & cmd->bit) {
        print_words("Preconditioners", kry_precond_word);
        print_meaning(printf("  ...@single, ...@half"),
                      "how block-ic, ic0, icc, block-ilu, ilu0 and ilu keep their numbers");
        print_settings();
    }
    if (commands_of_word("deflation") & cmd->bit)
        print_words("Deflation, its settings behind commas", kry_deflation_word);
    if (cmd->notes) printf("\n%s", cmd->notes);
}
