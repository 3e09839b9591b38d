/* objects.c - what was made and is not released. */
#define _POSIX_C_SOURCE 200809L
#include "layer.h"
#include <stdint.h>
#include <stdlib.h>

enum { BUCKETS = 4096 };
static layer_object *bucket[BUCKETS];
static long live[KINDS], made[KINDS];

static const char *const words[] = {
#define WORD(name, word) [name] = word,
    LAYER_KIND_LIST(WORD)
#undef WORD
};

static layer_object **place_of(layer_kind kind, const void *handle)
{
    layer_object **at = &bucket[(uintptr_t)handle / 16 % BUCKETS];
    while (*at && ((*at)->handle != handle || (*at)->kind != kind)) at = &(*at)->next;
    return at;
}

layer_object *layer_find(layer_kind kind, const void *handle) { return *place_of(kind, handle); }

/* Handles of images and buffers know their size. */
static size_t bytes_of(layer_kind kind, void *handle)
{
    size_t bytes = 0;
    if (kind == MEMS)
        next->clGetMemObjectInfo((cl_mem)handle, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    return bytes;
}

void layer_made(layer_kind kind, void *handle, const char *maker)
{
    layer_object *o = calloc(1, sizeof *o);
    size_t bytes = bytes_of(kind, handle);

    if (!o) abort();
    layer_lock();
    layer_object **at = &bucket[(uintptr_t)handle / 16 % BUCKETS];
    *o = (layer_object){ .next = *at,
                         .handle = handle,
                         .kind = kind,
                         .refs = 1,
                         .maker = maker,
                         .number = layer_calls(),
                         .bytes = bytes };
    *at = o;
    live[kind]++, made[kind]++;
    layer_unlock();
}

void layer_retained(layer_kind kind, void *handle)
{
    layer_lock();
    layer_object *o = layer_find(kind, handle);
    if (o) o->refs++;
    layer_unlock();
}

/* Before it is released: then its handle may be another's at any moment. */
void layer_released(layer_kind kind, void *handle)
{
    layer_lock();
    layer_object **at = place_of(kind, handle), *o = *at;
    if (o && --o->refs == 0) {
        *at = o->next;
        live[kind]--;
        free(o);
    } else if (!o && kind != DEVICES) {
        layer_broke("a %s is released that is not there (any more)", words[kind]);
    }
    layer_unlock();
}

long layer_live(layer_kind kind)
{
    layer_lock();
    long count = live[kind];
    layer_unlock();
    return count;
}

size_t layer_bytes(void)
{
    size_t sum = 0;
    layer_lock();
    for (int i = 0; i < BUCKETS; i++)
        for (layer_object *o = bucket[i]; o; o = o->next) sum += o->bytes;
    layer_unlock();
    return sum;
}

/* Another thread may release a queue meanwhile, so it is held. */
void layer_settle(void)
{
    enum { MOST = 64 };
    cl_command_queue queue[MOST];
    int count = 0;

    layer_lock();
    for (int i = 0; i < BUCKETS; i++)
        for (layer_object *o = bucket[i]; o; o = o->next)
            if (o->kind == QUEUES && count < MOST) queue[count++] = o->handle;
    for (int i = 0; i < count; i++) next->clRetainCommandQueue(queue[i]);
    layer_unlock();
    for (int i = 0; i < count; i++) next->clFlush(queue[i]); /* they may wait for each other */
    for (int i = 0; i < count; i++) next->clFinish(queue[i]);
    for (int i = 0; i < count; i++) next->clReleaseCommandQueue(queue[i]);
}

void layer_report(FILE *to)
{
    layer_lock();
    fprintf(to, "layer: %ld rules broken;", layer_broken());
    for (int k = 0; k < KINDS; k++)
        if (made[k]) fprintf(to, " %s %ld made %ld live;", words[k], made[k], live[k]);
    fprintf(to, "\n");
    for (int i = 0; i < BUCKETS; i++)
        for (layer_object *o = bucket[i]; o; o = o->next)
            fprintf(to, "layer: a live %s, made by %s at call %ld, with %d references\n",
                    words[o->kind], o->maker, o->number, o->refs);
    layer_unlock();
}
