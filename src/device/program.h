/*
 * program.h - kernels: they are compiled once and kept in memory and on disk.
 */
#ifndef KRY_PROGRAM_H
#define KRY_PROGRAM_H

#include "device/device.h"

/* ---- program.c ---- */

enum { KRY_MAX_ARGS = 40, KRY_MAX_OPTIONS = 1024 };

/* A kernel of a program, owned by the device. Arguments belong to its OpenCL handle, so a thread
 * takes the kernel before it sets them. A thread that finds it taken does not wait: it takes a
 * spare one of the same code. */
typedef struct kryi_kernel {
    cl_kernel handle;             /* once it is ready */
    uint64_t hash;                /* the same: of the program's text and options */
    struct kryi_program *program; /* borrowed */
    const char *name;
    atomic_bool ready;
    struct kryi_kernel *next;          /* the next kernel of the program */
    struct kryi_kernel *_Atomic spare; /* owned: of the same code; NULL: none */
    atomic_bool taken;
    /* The last arguments; only the thread that has taken the kernel looks at them. */
    unsigned char last[KRY_MAX_ARGS][8];
    unsigned char last_size[KRY_MAX_ARGS];
    unsigned generation;
    bool launched; /* at least once, and that launch has ended */
    /* A launch lasts as long as a whole solve: the first one does not count as compiling. */
    bool persistent;
} kryi_kernel;

/* All that a program of a device depends on; options, which follow from the rest, are for the compiler. */
typedef struct kryi_wanted {
    const char *stem, *defines, *options;
    kry_type type;
    bool reproducible, unoptimised; /* kryi_layout */
    int group;                      /* work-items */
} kryi_wanted;

/* Compile the kernel's program, unless that is done. Who launches a kernel does so by itself; who asks a driver about
 * its handle does it before. Errors are those of compilers: KRY_ERR_BUILD. */
kry_status kryi_kernel_ready(kry_device *dev, kryi_kernel *kernel);
/* Take the kernel or a spare one, which is made if all are taken. */
kry_status kryi_kernel_take(kry_device *dev, kryi_kernel *kernel, kryi_kernel **mine);
static inline void kryi_kernel_give_back(kryi_kernel *mine)
{
    if (mine) atomic_store(&mine->taken, false);
}

/* PoCL 3.1 compiles a kernel when it is first launched, in a thread of its own, and LLVM 15
 * sometimes crashes if another program is built at that time (seen in LLVM's pass manager, under
 * AddressSanitizer). So on devices that are no GPUs, only one thread of the process builds a
 * program or launches a kernel for the first time. */
bool kryi_is_pocl(const kry_device *dev);
void kryi_compiling_begin(const kry_device *dev);
void kryi_compiling_end(const kry_device *dev);
/* Count the seconds since `start` as compiling. */
void kryi_compiling_count(kry_device *dev, double start);
/* Take turns around the first launch of a kernel in groups of `size`. Ranks come to it at the same time: one of them
 * compiles, and the others, which share PoCL's cache with it, wait and find it there. `lock` goes to the end. */
void kryi_first_launch_begin(const kry_device *dev, const kryi_kernel *kernel, int size, int *lock);
void kryi_first_launch_end(const kry_device *dev, const kryi_kernel *kernel, int size, int lock);

/* The kernel `name` of the file <stem>.cl in a folder of cl/ for numbers of `type` with `defines` ("-DX=1 -DY", or ""). It is compiled when it is
 * first launched. */
kry_status kryi_kernel_get(kry_device *dev, const char *stem, kry_type type, const char *defines,
                           const char *name, kryi_kernel **kernel);
/* `count` kernels of one program. */
typedef struct kryi_named_kernel {
    const char *name;
    kryi_kernel **kernel;
} kryi_named_kernel;
kry_status kryi_kernels_get(kry_device *dev, const char *stem, kry_type type, const char *defines,
                            const kryi_named_kernel *kernels, size_t count);
void kryi_programs_release(kry_device *dev);

/* ---- program_build.c ---- */

/* Options of the compiler for this device as it is set now. */
void kryi_program_options(const kry_device *dev, kry_type type, const char *defines, char *text,
                          size_t size);
/* The driver's entry of OpenCL devices. */
kry_status kryi_opencl_build(kry_device *dev, const kryi_wanted *w, const char *source, int part,
                             cl_program *program, uint64_t *hash);

/* ---- program_source.c: the text that is compiled, to be freed ---- */

/* A file of cl/ inside of the library. name: its path below cl/. No two files with kernels have the same stem: tools/embed.py,
 * which makes this table when the library is built, sees to it. */
typedef struct kryi_kernel_file {
    const char *name, *text;
} kryi_kernel_file;
extern const kryi_kernel_file kryi_kernel_files[]; /* the last one has no name */

/* The file <stem>.cl in a folder of cl/, with those that its lines #include "..." name by their paths below cl/, in the places
 * of these lines, each once. */
kry_status kryi_program_source(const char *stem, char **source);
/* kryi_program_source for a stem or, where no file has it, for the name of a kernel. Returns  KRY_ERR_ARGUMENT for others. */
kry_status kryi_program_source_of(const char *name, char **source);
/* What "#pragma kry" is followed by. KRY_PART: a part begins, kernels that are used together, with what no other part uses.
 * Behind KRY_PART_END, and behind where a file begins or goes on after another one, comes what is for all parts.
 * KRY_IMAGES: its kernels take images. */
#define KRY_PART     "part"
#define KRY_PART_END "end"
#define KRY_IMAGES   "images"
bool kryi_program_says(const char *source, const char *word);
enum { KRY_ALL_PARTS = -1 };
int kryi_program_parts(const char *source); /* how many there are */
/* In which part the kernel is, counted from 1 on; 0: in none; KRY_ALL_PARTS: it is not found, for a macro makes its name. */
int kryi_program_part(const char *source, const char *kernel);
/* What compilers get: the text without lines #pragma kry and without the other parts. Lines stay, empty, so that compilers
 * count as before. */
kry_status kryi_program_take_part(const char *source, int part, char **text);
/* kry.clh and the caller's own kernels. name: for messages of the compiler. */
kry_status kryi_program_source_given(const char *name, const char *given, char **source);

/* ---- cache_folder.c ---- */

/* $KRY_CACHE_DIR, else $XDG_CACHE_HOME/kry, else ~/.cache/kry. Returns false if nothing is kept: the variable
 * is empty, or the folder belongs to somebody else or others may write to it. */
bool kryi_cache_directory(char *dir, size_t size);
/* Write a file of that folder, and keep the folder's size within its limit. */
typedef struct kryi_piece {
    const void *bytes;
    size_t size;
} kryi_piece;
void kryi_cache_write(const char *path, const kryi_piece *pieces, int count);
/* Open a file of that folder for reading; NULL unless it is a plain file that only the user can write. */
FILE *kryi_cache_open(const char *path);
/* Hold the lock of a file of that folder against other processes, and wait while another one holds it, for so many
 * seconds at most. The lock is the file "<path>.lock", which is there while it is held; a process that ends lets go.
 * Returns a descriptor for kryi_cache_unlock; -1: it is not held, for it took too long or cannot be had. */
int kryi_cache_lock(const char *path, double seconds);
void kryi_cache_unlock(const char *path, int lock);

/* ---- program_disk.c ---- */

/* Load and store a binary. The cache only saves time: files that cannot be read, written or trusted
 * are ignored in silence. key: all that the binary depends on. */
bool kryi_disk_load(const char *key, unsigned char **binary, size_t *size);
void kryi_disk_store(const char *key, const unsigned char *binary, size_t size);
/* One process at a time builds the program of this key. -1: in spite of it, several may. */
int kryi_disk_lock(const char *key);
void kryi_disk_unlock(const char *key, int lock);
/* A lock for the first process that comes to `key`; those that come meanwhile wait until it has unlocked, and
 * get -1. */
int kryi_disk_go_first(const char *key);

#endif
