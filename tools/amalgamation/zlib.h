#ifdef KRY_HAVE_ZLIB
#include <zlib.h>
#else
/* In place of zlib: plain files are written, and what is gzip'd is refused. */
#include <errno.h>
typedef unsigned char Bytef;
typedef unsigned uInt;
typedef FILE *gzFile;
typedef struct z_stream {
    Bytef *next_in, *next_out;
    uInt avail_in, avail_out;
    const char *msg;
} z_stream;
enum {
    Z_OK = 0,
    Z_STREAM_END = 1,
    Z_VERSION_ERROR = -6,
    Z_NO_FLUSH,
    Z_FINISH,
    Z_DEFLATED,
    Z_DEFAULT_STRATEGY
};
#define inflateInit2(z, bits)                                  ((void)(z), Z_VERSION_ERROR)
#define inflate(z, flush)                                      ((void)(z), Z_VERSION_ERROR)
#define inflateReset(z)                                        ((void)(z), Z_VERSION_ERROR)
#define inflateEnd(z)                                          ((void)(z))
#define deflateInit2(z, level, method, bits, memory, strategy) ((void)(z), Z_VERSION_ERROR)
#define deflateBound(z, size)                                  (size)
#define deflate(z, flush)                                      ((void)(z), Z_VERSION_ERROR)
#define deflateEnd(z)                                          ((void)(z))
#define gzprintf                                               fprintf
#define gzputs(file, text)                                     fputs(text, file)
static int gzwrite(gzFile file, const void *bytes, unsigned size)
{
    return (int)fwrite(bytes, 1, size, file);
}
static gzFile gzdopen(int file, const char *mode)
{
    if (strchr(mode, 'T')) return fdopen(file, "wb");
    errno = ENOTSUP;
    return NULL;
}
static int gzclose(gzFile file)
{
    const int failed = ferror(file);
    return fclose(file) || failed ? -1 : Z_OK;
}
#endif
