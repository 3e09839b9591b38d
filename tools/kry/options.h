/*
 * options.h - the command line of every subcommand, from one table.
 */
#ifndef KRY_OPTIONS_H
#define KRY_OPTIONS_H

#include "operator/op.h"

enum { MAX_WORDS = 64 };

/* What was given, as text that the parser has checked; NULL: not given. */
typedef struct options {
    const char *words[MAX_WORDS], *problems[MAX_WORDS]; /* borrowed from argv */
    int word_count, problem_count;
    const char *rhs, *method, *precond, *omega, *deflation, *null_space, *precision, *format,
        *device;
    const char *resident;
    const char *scheme, *inner, *inner_rtol, *delta, *equilibrate, *outer;
    const char *rtol, *atol, *maxit, *check_every, *seed, *n, *max_n;
    const char *out, *plot, *svg, *solution;
    bool json, hot, help, check_precond, reproducible;
} options;

typedef struct command {
    const char *name, *usage, *summary;
    unsigned bit; /* in the table of options */
    const char *notes;
    kry_status (*run)(const options *o);
} command;

enum {
    FOR_DEVICES = 1,
    FOR_SOLVE = 2,
    FOR_INFO = 4,
    FOR_GENERATE = 8,
    FOR_BENCH = 16,
    FOR_REPRODUCE = 32,
    FOR_TUNE = 64,
    FOR_ALL = 127
};

/* Fill `o` from the arguments behind the command's name. Returns  KRY_ERR_PARSE. */
kry_status options_parse(const command *cmd, int argc, char **argv, options *o);
void options_help(const command *cmd);

/* A number the parser has checked, or the fallback where none was given. */
int64_t options_whole(const char *text, int64_t fallback);
kry_type options_type(const options *o);
bool options_mixed(const options *o); /* of which that is the outer type */

/* How A is to be held: what --format says. */
typedef struct form {
    bool stored;  /* as a matrix, whatever A is */
    bool stencil; /* without one; neither: without one where A lies on a grid */
    kry_matrix_params matrix;
    bool on_host; /* where it stays */
} form;

/* `values`: how a format that is named keeps its numbers if the word does not say; "auto" and
 * "measure" are the library's to decide. Returns  KRY_ERR_PARSE. */
kry_status options_form(const options *o, kry_values values, form *f);

/* The nearest of `count` names to a misspelt one; NULL if none is near. */
const char *nearest_name(const char *word, const char *const *names, size_t count);

#endif
