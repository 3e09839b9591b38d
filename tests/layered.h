/*
 * layered.h - for tests that run behind the layer of tests/layer: its table of functions.
 */
#ifndef KRY_LAYERED_H
#define KRY_LAYERED_H

#include "layer/control.h"
#include "testing.h"
#include <dlfcn.h>

/* NULL: there is no layer, for the loader knows none or OPENCL_LAYERS does not name ours. */
static const layer_control *layer(void)
{
    static const layer_control *control;
    const char *path = getenv("OPENCL_LAYERS");
    cl_uint platforms = 0;
    layer_control_fn *give = NULL;

    if (control || !path) return control;
    (void)clGetPlatformIDs(0, NULL, &platforms); /* now the loader has its layers */
    void *library = dlopen(path, RTLD_NOW);
    void *symbol = library ? dlsym(library, "kry_layer_control") : NULL;
    if (!symbol) return NULL;
    memcpy(&give, &symbol, sizeof give);
    control = give();
    return control;
}

/* For main(): nothing to test without the layer. */
#define NEED_LAYER                                               \
    do {                                                         \
        if (!layer()) {                                          \
            printf("1..0 # SKIP no layer before this OpenCL\n"); \
            return 0;                                            \
        }                                                        \
    } while (0)

#endif
