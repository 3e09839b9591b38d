/*
 * options.h - the command line of every subcommand, from one table and from that of the library.
 */
#ifndef KRY_PROGRAM_OPTIONS_H
#define KRY_PROGRAM_OPTIONS_H

#include "common.h"

enum { MAX_WORDS = 64, MAX_SOLVER_WORDS = 32, SOLVER_TEXT = 512 };

/* What was given, as text that the parser has checked; NULL: not given. */
typedef struct options {
    const char *words[MAX_WORDS], *problems[MAX_WORDS]; /* borrowed from argv */
    int word_count, problem_count;
    const char
        *solver[MAX_SOLVER_WORDS]; /* values of kry_solver_word(0), kry_solver_word(1), ... */
    const char *rhs, *precision, *format, *device, *outer, *block_size, *blocks, *coordinates,
        *duplicates;
    const char *maxit, *seconds, *seed, *n, *max_n, *columns;
    const char *out, *plot, *svg, *solution, *html, *mass, *constraints, *sigma, *eigen_method;
    int argc; /* the words of the command line behind the program's name, for pages */
    const char *const *argv;
    bool json, hot, help, check_precond, levels, reproducible, verbose, largest;
} options;

typedef struct command {
    const char *name, *usage, *summary;
    unsigned bit;         /* in the table of options */
    const char *examples; /* two lines of a shell */
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
    FOR_KERNELS = 128,
    FOR_EIGEN = 256,
    FOR_ALL = 511
};

typedef enum option_kind { FLAG, TEXT, LIST, REAL, WHOLE } option_kind;

/* Help lists options by these, in this order. */
typedef enum option_group {
    ABOUT_SYSTEM,
    ABOUT_METHOD,
    ABOUT_STOPPING,
    ABOUT_OUTPUT,
    ABOUT_DEVICE,
    ABOUT_EXPERT,
    ABOUT_COUNT
} option_group;

typedef struct option {
    const char *name;
    char letter; /* short form, or 0 */
    option_kind kind;
    size_t offset; /* in options */
    unsigned commands;
    option_group group;
    const char *value; /* what it takes, for help; "a|b|c" where only these are taken */
    bool closed;       /* nothing but the words in `value` */
    const char *help;
} option;

/* The i-th option, those of the program before those of kry_solver_create; false: no more. */
bool options_get(int i, option *opt);

/* Fill `o` from the arguments behind the command's name. Returns  KRY_ERR_PARSE. */
kry_status options_parse(const command *cmd, int argc, char **argv, options *o);
void options_help(const command *cmd);
/* The whole line as a shell would take it. *text: to be freed. */
kry_status options_command(const options *o, char **text);

/* The value of a word of kry_solver_create; NULL: not given. And give it one, borrowed. */
const char *options_solver(const options *o, const char *name);
void options_solver_set(options *o, const char *name, const char *value);
/* Set the method if it was not given, and the preconditioner, too, if neither was: then it is `precond`. */
void options_choose_method(options *o, const char *precond);
/* Once the method is chosen: the preconditioner that a solver for A has. */
const char *options_precond(const options *o, const kry_op *A);
/* All words of the solver as kry_solver_create takes them. Returns  KRY_ERR_PARSE for too many. */
kry_status options_solver_text(const options *o, char text[SOLVER_TEXT]);

/* A number the parser has checked, or the fallback where none was given. */
int64_t options_whole(const char *text, int64_t fallback);
/* The device of a command that needs OpenCL: the one that is named, else the first of OpenCL. */
const char *options_opencl(const options *o);
kry_type options_type(const options *o); /* of the numbers on the host */
bool options_mixed(const options *o);    /* then that is KRY_F64 */

/* How A is to be held: what --format says, and what else it is to know. */
typedef struct form {
    bool stored;  /* as a matrix, whatever A is */
    bool stencil; /* without one; neither: without one where A lies on a grid */
    kry_matrix_params matrix;
    bool on_host;            /* where it stays */
    int blocks[3];           /* of a grid on several devices; all 0: as the library cuts it */
    bool modes;              /* a preconditioner wants to know the rigid body modes */
    const char *coordinates; /* a file for them; NULL: those of the problem */
} form;

/* `values`: how a format that is named keeps its numbers if the word does not say; "auto" and
 * "measure" are the library's to decide. Returns  KRY_ERR_PARSE. */
kry_status options_form(const options *o, kry_values values, form *f);

#endif
