/* part_shell.c - what a window of a grid has of other parts. Kernel: cl/multigrid/window.cl. */
#include "multigrid/part_window.h"
#include <stdlib.h>

void kryi_shell_release(kryi_shell *s)
{
    kryi_halo_release(&s->halo);
    if (s->dev) kryi_buffer_release(s->dev, &s->point);
    for (int i = 0; i < 2; i++) kry_vec_release(&s->beside[i]);
    *s = (kryi_shell){ 0 };
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

/* The number of a row of the own points in the window. */
static int32_t number_of(const void *self, int32_t row)
{
    const kryi_shell *s = self;
    const kryi_window *own = &s->own;
    const int64_t line = row / own->size[0];
    const int64_t place[3] = { own->first[0] + row % own->size[0],
                               own->first[1] + line % own->size[1],
                               own->first[2] + line / own->size[1] };
    return (int32_t)kryi_window_number(&s->window, place);
}

static bool has(const kryi_window *w, const int64_t place[3])
{
    for (int a = 0; a < 3; a++)
        if (place[a] < w->first[a] || place[a] >= w->first[a] + w->size[a]) return false;
    return true;
}

/* Where that part has it which has the point. */
static int64_t place_of(const kryi_cut *cut, int64_t row)
{
    int64_t index;
    const int part = kryi_boxes_find(&cut->boxes, row, &index);
    return cut->first[part] + index;
}

/* The points of `reach` that are not this part's: *sorted, whether their places ascend. */
static void list_points(const kryi_shell *s, const kryi_window *reach, foreign *list, bool *sorted)
{
    const kryi_cut *cut = s->cut;
    const int64_t points = kryi_window_points(reach), width = reach->size[0];
    /* in a whole row of the grid one place follows the other */
    const int64_t run = cut->boxes.parts[0] == 1 ? width : 1;
    int64_t at[3], place, last = -1;
    int32_t point;

    *sorted = true;
    for (int64_t i = 0; i < points; i += run) {
        at[0] = reach->first[0] + i % width;
        at[1] = reach->first[1] + i / width % reach->size[1];
        at[2] = reach->first[2] + i / width / reach->size[1];
        if (has(&s->own, at)) {
            i += s->own.size[0] - run; /* the rest of a row of them */
            continue;
        }
        place = place_of(cut, kryi_cut_row(cut, reach, i));
        point = (int32_t)kryi_window_number(&s->window, at);
        *sorted = *sorted && place > last;
        last = place + run - 1;
        for (int64_t k = 0; k < run; k++) *list++ = (foreign){ place + k, point + (int32_t)k };
    }
}

static kry_status create_halo(kryi_shell *s, kry_type type, const kryi_window *reach)
{
    kry_status st = KRY_OK;
    const size_t count = (size_t)s->count;
    foreign *list = NULL;
    int64_t *place = NULL;
    int32_t *point = NULL;
    bool sorted;

    TRY(kryi_alloc(count, sizeof *list, &list));
    TRY(kryi_alloc(count, sizeof *place, &place));
    TRY(kryi_alloc(count, sizeof *point, &point));
    list_points(s, reach, list, &sorted);
    if (!sorted) qsort(list, count, sizeof *list, by_place);
    for (size_t i = 0; i < count; i++) place[i] = list[i].place, point[i] = list[i].point;
    TRY(kryi_buffer_upload(s->dev, count * sizeof *point, point, &s->point));
    const kryi_places want = { s->cut->first, s->count, place };
    TRY(kryi_halo_create_for(s->dev, type, &want, &s->halo));
    TRY(kryi_halo_renumber(s->halo, number_of, s));
done:
    free(point);
    free(place);
    free(list);
    return st;
}

kry_status kryi_shell_create(kry_device *dev, kry_type type, const kryi_cut *cut,
                             const kryi_window *window, const kryi_window *reach, kryi_shell *s)
{
    kry_status st = KRY_OK;

    *s = (kryi_shell){ .dev = dev, .cut = cut, .own = kryi_cut_own(cut), .window = *window };
    const int64_t own = kryi_window_points(&s->own);
    s->count = kryi_window_points(reach) - own;
    TRY(create_halo(s, type, reach));
    for (int i = 0; i < 2 && !kryi_window_is_in_one(window, &s->own); i++)
        TRY(kry_vec_create(dev, type, own, 1, &s->beside[i]));
done:
    if (st < 0) kryi_shell_release(s);
    return st;
}

kry_status kryi_shell_refresh(const kryi_shell *s, kry_vec *all)
{
    kry_status st = KRY_OK;
    kry_device *dev = s->dev;

    TRY(kryi_halo_begin(s->halo, all));
    TRY(kryi_halo_end(s->halo));
    const cl_mem numbers = kryi_halo_numbers(s->halo);
    const kry_arg args[] = { ARG(s->count), ARG(s->point), ARG(numbers), ARG_VEC(all) };
    if (s->count)
        TRY(kryi_run(dev, "window", all->type, "", "window_fill",
                     kryi_groups_for(dev, all->type, s->count), args, COUNT(args)));
done:
    return st;
}

kry_vec kryi_shell_place(const kryi_shell *s, int which, const kry_vec *all)
{
    return s->beside[which] ? kryi_vec_borrow(s->beside[which])
                            : kryi_window_view(&s->window, &s->own, all);
}

kry_status kryi_shell_take(const kryi_shell *s, int which, const kry_vec *all, kry_vec *mine)
{
    *mine = kryi_shell_place(s, which, all);
    if (!s->beside[which]) return KRY_OK;
    return kryi_window_copy(all, &s->window, mine, &s->own, &s->own);
}

kry_status kryi_shell_fill(const kryi_shell *s, const kry_vec *mine, kry_vec *all)
{
    kry_status st = KRY_OK;

    if (mine->buffer != all->buffer) TRY(kryi_window_copy(mine, &s->own, all, &s->window, &s->own));
    TRY(kryi_shell_refresh(s, all));
done:
    return st;
}
