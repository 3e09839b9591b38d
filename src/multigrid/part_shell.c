/* part_shell.c - what a window of a grid has of other parts. Kernel: cl/window.cl. */
#include "multigrid/part_window.h"
#include <stdlib.h>

void kry_shell_release(kry_shell *s)
{
    kry_halo_release(&s->halo);
    if (s->dev) kry_buffer_release(s->dev, &s->point);
    *s = (kry_shell){ 0 };
}

/* A point of the window that is another part's: where that has it, and which it is here. */
typedef struct foreign {
    int64_t place;
    int32_t point;
} foreign;

static int by_place(const void *a, const void *b)
{
    const foreign *p = a, *q = b;
    return (p->place > q->place) - (p->place < q->place);
}

static bool has(const kry_window *w, const int64_t place[3])
{
    for (int a = 0; a < 3; a++)
        if (place[a] < w->first[a] || place[a] >= w->first[a] + w->size[a]) return false;
    return true;
}

static int64_t place_of(const kry_cut *cut, const int64_t at[3])
{
    const int64_t *size = cut->grid.size;
    int64_t row = 0, index;

    for (int a = 2; a >= 0; a--) row = row * size[a] + (at[a] + size[a]) % size[a];
    const int part = kry_boxes_find(&cut->boxes, row, &index);
    return cut->first[part] + index;
}

/* Those of the window's points that are not this part's. */
static void list_points(const kry_cut *cut, const kry_shell *s, foreign *list)
{
    const kry_window *w = &s->window;
    const int64_t points = kry_window_points(w);
    int64_t at[3];

    for (int64_t i = 0; i < points; i++) {
        const int64_t row = i / w->size[0];
        at[0] = w->first[0] + i % w->size[0];
        at[1] = w->first[1] + row % w->size[1];
        at[2] = w->first[2] + row / w->size[1];
        if (has(&s->own, at))
            i += s->own.size[0] - 1; /* the rest of a row of them */
        else
            *list++ = (foreign){ place_of(cut, at), (int32_t)i };
    }
}

kry_status kry_shell_create(kry_device *dev, kry_type type, const kry_cut *cut,
                            const kry_window *window, kry_shell *s)
{
    kry_status st = KRY_OK;
    foreign *list = NULL;
    int64_t *place = NULL;
    int32_t *point = NULL;

    *s = (kry_shell){ .dev = dev, .own = kry_cut_own(cut), .window = *window };
    s->count = kry_window_points(window) - kry_window_points(&s->own);
    const size_t count = (size_t)s->count;
    TRY(kry_alloc(count, sizeof *list, &list));
    TRY(kry_alloc(count, sizeof *place, &place));
    TRY(kry_alloc(count, sizeof *point, &point));
    list_points(cut, s, list);
    qsort(list, count, sizeof *list, by_place);
    for (size_t i = 0; i < count; i++) place[i] = list[i].place, point[i] = list[i].point;
    TRY(kry_buffer_upload(dev, count * sizeof *point, point, &s->point));
    const kry_places want = { kry_layout_size(&dev->layout), cut->first, s->count, place };
    TRY(kry_halo_create_for(dev, type, &want, &s->halo));
done:
    free(point);
    free(place);
    free(list);
    if (st < 0) kry_shell_release(s);
    return st;
}

kry_status kry_shell_fill(const kry_shell *s, const kry_vec *mine, kry_vec *all)
{
    kry_status st = KRY_OK;
    kry_device *dev = s->dev;

    TRY(kry_halo_begin(s->halo, mine));
    TRY(kry_window_copy(1, mine, &s->own, 0, all, &s->window, &s->own));
    TRY(kry_halo_end(s->halo));
    const cl_mem numbers = kry_halo_numbers(s->halo);
    const kry_arg args[] = { ARG(s->count), ARG(s->point), ARG(numbers), ARG_VEC(all) };
    if (s->count)
        TRY(kry_run(dev, "window", all->type, "", "window_fill",
                    kry_groups_for(dev, all->type, s->count), args, COUNT(args)));
done:
    return st;
}
