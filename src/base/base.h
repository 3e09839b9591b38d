/*
 * base.h - what every file of the library uses: how a function fails, host memory, numbers.
 */
#ifndef KRY_BASE_H
#define KRY_BASE_H

#include <kry/kry.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

/* ---- leaving a function through its single exit: `st` and the label `done` must exist ---- */

#define TRY(call)              \
    do {                       \
        st = (call);           \
        if (st < 0) goto done; \
    } while (0)

#define CHECK(cond, status, ...)                  \
    do {                                          \
        if (!(cond)) {                            \
            st = kry_fail((status), __VA_ARGS__); \
            goto done;                            \
        }                                         \
    } while (0)

/* Copy a struct that the library has filled in to the caller's, NULL or of `size` bytes: no more than an earlier
 * header's has room for, and 0 into the fields that only a later one has. */
void kryi_hand_out(const void *mine, size_t mine_size, void *caller, size_t size);

/* Whether all of these pointers are there: KRY_ERR_ARGUMENT names the function and the first that is NULL. */
#define GIVEN(...) kryi_check_given(__func__, #__VA_ARGS__, (const void *const[]){ __VA_ARGS__ })
kry_status kryi_check_given(const char *who, const char *names, const void *const *pointer);

/* What an analyzer of one file at a time cannot see: kry_fail returns its status, GIVEN fails for a NULL. */
#if defined(__clang_analyzer__) || defined(__cppcheck__)
#define kry_fail(status, ...) ((void)kry_fail((status), __VA_ARGS__), (status))
static inline kry_status kryi_all_given(size_t count, const void *const *pointer)
{
    for (size_t i = 0; i < count; i++)
        if (!pointer[i]) return KRY_ERR_ARGUMENT;
    return KRY_OK;
}
#undef GIVEN
#define GIVEN(...)                                                                \
    kryi_all_given(sizeof((const void *const[]){ __VA_ARGS__ }) / sizeof(void *), \
                   (const void *const[]){ __VA_ARGS__ })
#endif

/* A row or column in a message, and the end of that message, whose last argument is kryi_first_row. */
#define ROW(i)  ((long long)(i) + kryi_first_row)
#define COUNTED " (rows and columns count from %d)"
extern atomic_int kryi_first_row;

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- status.c, alloc.c ---- */

double kryi_now(void); /* seconds, from a clock that only goes forward */
/* Another number in each call, whatever the thread. */
unsigned kryi_ticket(void);

/* kry_random_unit(seed, stream, place) is made of this key and the place; vec.cl does it on a device. */
uint64_t kryi_random_key(uint64_t seed, uint64_t stream);

/* All host memory comes from these, so that tests can make any request fail (hooks.h). A count that is too large for size_t, where
 * that has 32 bits, fails as well. */
kry_status kryi_alloc(uint64_t count, size_t size, void *address_of_pointer); /* zeroed */
kry_status kryi_realloc(uint64_t count, size_t size,
                        void *address_of_pointer);                     /* tail not zeroed */
kry_status kryi_copy_text(const char *text, void *address_of_pointer); /* to be freed */
/* A first write to each page of an array costs more than the writes, and less where the pages are large, which some systems
 * give only to those who ask: for arrays of so many bytes, or more, it is worth it. */
enum { KRY_LARGE_ARRAY = 1 << 22 };
void kryi_ask_for_large_pages(void *p, size_t bytes);

/* ---- parallel.c ---- */

enum { KRY_MOST_PARTS = 16 };
/* Steps begin ... end - 1 of a loop. It allocates nothing and cannot fail, and what it writes does not depend on how
 * the loop is cut. */
typedef void kryi_loop(void *user, int part, int64_t begin, int64_t end);
/* How many threads a loop is worth that reads so many numbers: at most as many as there are processors. */
int kryi_parts(int64_t work);
/* Cut a loop of `count` steps into parts of about the same length, and run each of them on a thread of its own; on
 * the caller's where there is none to be had. Returns when all have ended. */
void kryi_parallel(int parts, int64_t count, kryi_loop *run, void *user);

/* ---- number.c ---- */

/* Pieces that n things are cut into, of which the last may be shorter. */
static inline int64_t kryi_pieces_of(int64_t n, int64_t piece)
{
    return n / piece + (n % piece != 0);
}

size_t kry_type_size(kry_type type); /* bytes */

/* Number i of an array of `type` on the host. */
static inline double kryi_number_at(kry_type type, const void *numbers, int64_t i)
{
    return type == KRY_F32 ? (double)((const float *)numbers)[i] : ((const double *)numbers)[i];
}
static inline void kryi_number_put(kry_type type, void *numbers, int64_t i, double v)
{
    if (type == KRY_F32)
        ((float *)numbers)[i] = (float)v;
    else
        ((double *)numbers)[i] = v;
}

/* Read one number of a text that ends at `end`, in any locale. Each returns where it stopped, at `end`,
 * at white space, or before anything else that cannot belong to the number; NULL if there is no number
 * or it does not fit. */
const char *kryi_read_int64(const char *at, const char *end, int64_t *value);
/* The nearest double, ties to even; overflow, "inf" and "nan" are no numbers. */
const char *kryi_read_double(const char *at, const char *end, double *value);
/* Print like %.*g with a decimal point in any locale; digits 0: the fewest of 15, 16 or 17 that read back
 * to the bit. Returns the length. */
int kryi_print_double(char *text, size_t size, int digits, double value);
/* snprintf and vsnprintf with a decimal point in any locale: all text that has numbers with a fraction goes through them. */
int kryi_print(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int kryi_vprint(char *text, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
/* Whether `text` is one whole number and nothing more. */
bool kryi_parse_int64(const char *text, int64_t *value);

/* ---- program.c ---- */

/* FNV-1a, 64 bits: the hash of what was hashed to h and `bytes`. */
#define KRY_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t kryi_hash(uint64_t h, const void *bytes, size_t size);

/* ---- word_table.c: tables of words (kry/words.h), to find one and to list them in messages ---- */

typedef const kry_word *kryi_word_at(int i); /* as kry_solver_word */

/* The place of the word that these `length` letters are; -1: there is none. */
int kryi_word_find(kryi_word_at *at, const char *letters, size_t length);
/* Which of the words of a "name=a|b|c" or "name[:a|b|c]" it is, from 0; -1: none of them. */
int kryi_word_choose(const kry_word *word, const char *choice);
/* *text := "a, b[:N], c", the forms of words number `from` up to, but not including, `to`; to be freed. */
kry_status kryi_word_list(kryi_word_at *at, int from, int to, char **text);

#endif
