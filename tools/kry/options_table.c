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
    { "problem", 0, LIST, AT(problems), FOR_SOLVE | FOR_INFO | FOR_BENCH | FOR_REPRODUCE, "SPEC",
      false, "a generated problem, see below" },
    { "rhs", 0, TEXT, AT(rhs), FOR_SOLVE, "FILE|ones|random|manufactured", false,
      "right-hand side; manufactured: A times a random x, so that the error is known" },
    { "rhs", 0, TEXT, AT(rhs), FOR_GENERATE, "FILE", false, "write the right-hand side too" },
    { "solution", 0, TEXT, AT(solution), FOR_GENERATE, "FILE", false,
      "write the known solution too" },
    { "check-precond", 0, FLAG, AT(check_precond), FOR_INFO, NULL, false,
      "test whether --precond (default jacobi) is symmetric and positive definite" },
    { "levels", 0, FLAG, AT(levels), FOR_INFO, NULL, false,
      "what multigrid (--precond mg, amg) makes of it: rows, entries, bytes of each level" },
    { "precision", 0, TEXT, AT(precision), FOR_BENCH | FOR_REPRODUCE | FOR_INFO, "single|double",
      true, "numbers on the device (default double)" },
    { "outer", 0, TEXT, AT(outer), FOR_SOLVE, "device|host", true,
      "mixed: where x and its residual are kept (default device, if it has double)" },
    { "format", 0, TEXT, AT(format), FOR_SOLVE | FOR_BENCH | FOR_INFO, "WORD", false,
      "stencil (none, on grids), or storage: auto, measure, csr, dia, symdia, ell, sell, ..." },
    { "blocks", 0, TEXT, AT(blocks), FOR_SOLVE | FOR_BENCH, "AxBxC", false,
      "cut a grid into so many blocks along x, y and z, one for each device or rank (default: by "
      "what they send)" },
    { "block-size", 0, WHOLE, AT(block_size), FOR_SOLVE | FOR_INFO, "N", false,
      "unknowns of a node, numbered one after the other (default: by the pattern)" },
    { "coordinates", 0, TEXT, AT(coordinates), FOR_SOLVE | FOR_INFO, "FILE", false,
      "of the nodes of a solid, a row of 2 or 3 for each: --precond amg takes its rigid body "
      "modes" },
    { "coordinates", 0, TEXT, AT(coordinates), FOR_GENERATE, "FILE", false,
      "write the coordinates of the nodes too" },
    { "maxit", 0, WHOLE, AT(maxit), FOR_BENCH, "N", false,
      "iterations of the solve (kernels; default 50)" },
    { "seed", 0, WHOLE, AT(seed), FOR_ALL & ~FOR_DEVICES, "S", false,
      "for everything random (default 1)" },
    { "n", 0, WHOLE, AT(n), FOR_BENCH, "N", false,
      "length of the vectors that are copied, added, ...; number of entries (mtx)" },
    { "n", 0, WHOLE, AT(n), FOR_REPRODUCE, "N", false,
      "points on a side of the cube, with --svg also N/2 and N/4 (akhtar)" },
    { "hot", 0, FLAG, AT(hot), FOR_BENCH, NULL, false,
      "one copy of the matrix and the vectors, which caches may hold (spmv, stencil)" },
    { "columns", 0, WHOLE, AT(columns), FOR_BENCH, "K", false,
      "vectors that A is multiplied with at once (spmv, stencil), or right-hand sides (solve, "
      "kernels); "
      "default 1" },
    { "reproducible", 0, FLAG, AT(reproducible), FOR_BENCH, NULL, false,
      "once more with the same bits on any number of devices, and the ratio (cg)" },
    { "svg", 0, TEXT, AT(svg), FOR_BENCH, "FILE", false, "draw the results (spmv, stencil)" },
    { "svg", 0, TEXT, AT(svg), FOR_REPRODUCE, "PREFIX", false,
      "draw the figures: PREFIX-....svg (wang, akhtar, gupta)" },
    { "max-n", 0, WHOLE, AT(max_n), FOR_REPRODUCE, "N", false,
      "points along a side of the largest grid, rows of the largest dense matrix (wang, gupta, "
      "brodtkorb; default: what suits the device)" },
    { "device", 0, TEXT, AT(device), FOR_ALL & ~(FOR_DEVICES | FOR_GENERATE), "SEL", false,
      "gpu, cpu, gpu:1 or a part of a name, see kry devices (default $KRY_DEVICE)" },
    { "out", 'o', TEXT, AT(out), FOR_SOLVE, "FILE", false, "write the solution (Matrix Market)" },
    { "out", 'o', TEXT, AT(out), FOR_GENERATE, "FILE", false, "the matrix; gzip'd if .gz" },
    { "plot", 0, TEXT, AT(plot), FOR_SOLVE, "FILE.svg", false, "draw the convergence history" },
    { "html", 0, TEXT, AT(html), FOR_SOLVE, "FILE.html", false,
      "write one page that tells all of it: convergence, times, kernels, the matrix" },
    { "html", 0, TEXT, AT(html), FOR_BENCH | FOR_REPRODUCE, "FILE.html", false,
      "write the results as one page in place of text (with --json: besides)" },
    { "verbose", 'v', FLAG, AT(verbose), FOR_SOLVE, NULL, false,
      "say what the solver is made of: preconditioner, deflation, tolerances, precision" },
    { "json", 0, FLAG, AT(json), FOR_ALL, NULL, false, "one JSON object per line" },
    { "help", 'h', FLAG, AT(help), FOR_ALL, NULL, false, "this text" },
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
    return strcmp(name, "precond") ? commands : commands | FOR_INFO;
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
                         .value = word->form + strlen(word->name) + 1,
                         .closed = word->kind == KRY_WORD_CHOICE,
                         .help = word->meaning };
    return i < own || word;
}

/* ---- help ------------------------------------------------------------------------- */

static void print_line(const char *left, const char *help)
{
    enum { LEFT = 27, INDENT = 30, LINE = 100 };

    printf("  %-*s", LEFT, left);
    if (strlen(left) < LEFT)
        printf(" ");
    else
        printf("\n%*s", INDENT, "");
    text_wrapped(help, LINE - INDENT, INDENT);
}

static void print_words(const char *title, const kry_word *(*word)(int i))
{
    printf("\n%s:\n", title);
    for (int i = 0; word(i); i++) print_line(word(i)->form, word(i)->meaning);
}

void options_help(const command *cmd)
{
    option opt;

    printf("kry %s %s\n\n%s\n\n", cmd->name, cmd->usage, cmd->summary);
    for (int i = 0; options_get(i, &opt); i++) {
        char left[80], letter[8] = "";
        if (!(opt.commands & cmd->bit)) continue;
        if (opt.letter) snprintf(letter, sizeof letter, "-%c, ", opt.letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, opt.name, opt.value ? " " : "",
                 opt.value ? opt.value : "");
        print_line(left, opt.help);
    }
    if (commands_of_word("precond") & cmd->bit) {
        print_words("Preconditioners", kry_precond_word);
        print_line("...@single, ...@half",
                   "how block-ic, ic0, icc, block-ilu, ilu0 and ilu keep their numbers");
        print_words("Settings of mg and amg, with commas between", kry_multigrid_word);
    }
    if (commands_of_word("deflation") & cmd->bit)
        print_words("Deflation, its settings behind commas", kry_deflation_word);
    if (cmd->notes) printf("\n%s", cmd->notes);
}
