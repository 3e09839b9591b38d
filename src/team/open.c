/* open.c - opening devices by name: "gpu:1", and teams: "gpu:0+gpu:1", "gpu:all", "cpu/2",
 * "host+gpu:0". */
#include "host/host.h"
#include "team/team.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct members {
    kry_device *device[KRY_TEAM_MOST];
    int count;
    bool times; /* their queues keep them */
} members;

/* id: NULL for the host. */
static kry_status add(members *m, cl_device_id id)
{
    kry_status st = KRY_OK;
    CHECK(m->count < KRY_TEAM_MOST, KRY_ERR_ARGUMENT, "kry_device_open: more than %d devices",
          (int)KRY_TEAM_MOST);
    TRY(id ? kryi_device_open_id(id, m->times, &m->device[m->count])
           : kryi_host_open(&m->device[m->count]));
    m->count++;
done:
    return st;
}

/* Whether a name is the host device's, whatever it is joined with. */
static bool is_host(const char *word)
{
    return !strncmp(word, "host", 4) && (!word[4] || strchr("+,/", word[4]));
}

/* The devices that were cut into sub-devices. They are never released: after a command has ended,
 * PoCL's threads still look at its device (in clReleaseEvent and in the scheduler), nothing says
 * when they are done, and PoCL's contexts and queues do not retain sub-devices. */
typedef struct cut {
    cl_device_id whole;
    int pieces;
    cl_device_id piece[KRY_TEAM_MOST];
    struct cut *next;
} cut;

static cut *cuts;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Add the sub-devices of a device that is cut into `pieces` with equally many compute units. */
static kry_status add_pieces(members *m, cl_device_id id, int pieces)
{
    kry_status st = KRY_OK;
    cl_uint units = 0, count = 0;
    kry_device_info info;
    cut *c = NULL, *made = NULL;

    pthread_mutex_lock(&lock);
    TRY_CL(clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL));
    CHECK(pieces >= 1 && pieces <= (int)units && pieces <= KRY_TEAM_MOST, KRY_ERR_ARGUMENT,
          "kry_device_open: a device of %u compute units cannot be cut into %d", units, pieces);
    TRY(kryi_profile_query(id, &info)); /* OpenCL 1.1 has no clCreateSubDevices */
    CHECK(info.opencl >= 120, KRY_ERR_UNSUPPORTED,
          "kry_device_open: '%s' cannot be cut into %d pieces: sub-devices are of OpenCL 1.2",
          info.name, pieces);
    for (c = cuts; c && (c->whole != id || c->pieces != pieces);) c = c->next;
    if (!c) {
        const cl_device_partition_property how[] = { CL_DEVICE_PARTITION_EQUALLY,
                                                     (cl_device_partition_property)units / pieces,
                                                     0 };
        TRY(kryi_alloc(1, sizeof *made, &made));
        CHECK(clCreateSubDevices(id, how, KRY_TEAM_MOST, made->piece, &count) == CL_SUCCESS &&
                  (int)count >= pieces,
              KRY_ERR_UNSUPPORTED,
              "kry_device_open: '%s' cannot be cut into %d pieces: it has no sub-devices",
              info.name, pieces);
        made->whole = id, made->pieces = pieces, made->next = cuts;
        c = cuts = made;
        made = NULL;
    }
    for (int i = 0; i < pieces; i++) TRY(add(m, c->piece[i]));
done:
    free(made);
    pthread_mutex_unlock(&lock);
    return st;
}

/* Add all devices of a kind; where there is none, say what there is. */
static kry_status add_kind(members *m, const char *kind)
{
    kry_status st = KRY_OK;
    char one[32];
    cl_device_id id;

    for (int i = 0; i < KRY_TEAM_MOST; i++) {
        snprintf(one, sizeof one, "%s:%d", kind, i);
        if (i > 0 && kryi_device_find(one, &id) < 0) break;
        if (i == 0) TRY(kryi_device_find(one, &id));
        TRY(add(m, id));
    }
done:
    return st;
}

/* Add the host, cut into pieces that share out its threads. */
static kry_status add_hosts(members *m, int pieces)
{
    kry_status st = KRY_OK;

    CHECK(pieces >= 1, KRY_ERR_ARGUMENT, "kry_device_open: 'host' cannot be cut into %d", pieces);
    TRY(kryi_host_check_kernels());
    for (int i = 0; i < pieces; i++) TRY(add(m, NULL));
done:
    return st;
}

/* Add what one name between plus signs stands for: "gpu:1", "cpu/2", "gpu:all", "host". */
static kry_status add_named(members *m, char *word)
{
    kry_status st = KRY_OK;
    char *slash = strrchr(word, '/'), extra;
    cl_device_id id;
    int pieces = 1, number;
    const char *kind = kryi_device_kind(word, &number);

    const bool cut = slash && sscanf(slash + 1, "%d%c", &pieces, &extra) == 1;
    if (cut) *slash = 0;
    if (!strcmp(word, "host")) {
        TRY(add_hosts(m, pieces));
    } else if (cut) {
        TRY(kryi_device_find(word, &id));
        TRY(add_pieces(m, id, pieces));
    } else if (kind && number == KRY_ALL_OF_KIND) {
        TRY(add_kind(m, kind));
    } else {
        TRY(kryi_device_find(word, &id));
        TRY(add(m, id));
    }
done:
    return st;
}

static kry_status take_option(const char *word, kry_team_params *params)
{
    bool *option = !strcmp(word, "use-all")        ? &params->use_all
                   : !strcmp(word, "graph")        ? &params->by_graph
                   : !strcmp(word, "reproducible") ? &params->reproducible
                                                   : NULL;
    if (!option)
        return kry_fail(KRY_ERR_ARGUMENT,
                        "kry_device_open: '%s' is none of use-all, graph, reproducible", word);
    *option = true;
    return KRY_OK;
}

static bool is_team(const char *spec)
{
    int number;
    return strpbrk(spec, "+,/") || (kryi_device_kind(spec, &number) && number == KRY_ALL_OF_KIND);
}

static kry_status open_team(const char *spec, bool times, kry_device **device)
{
    kry_status st = KRY_OK;
    members m = { .times = times };
    kry_team_params params = { .struct_size = sizeof params };
    char *text = NULL, *rest = NULL;

    *device = NULL;
    TRY(kryi_copy_text(spec, &text));
    char *options = strchr(text, ',');
    if (options) *options++ = 0;
    for (char *w = options ? strtok_r(options, ",", &rest) : NULL; w;
         w = strtok_r(NULL, ",", &rest))
        TRY(take_option(w, &params));
    for (char *w = strtok_r(text, "+", &rest); w; w = strtok_r(NULL, "+", &rest))
        TRY(add_named(&m, w));
    TRY(kry_team_create(m.device, m.count, &params, device));
done:
    for (int i = 0; i < m.count; i++) kry_device_release(&m.device[i]);
    free(text);
    return st;
}

static kry_status open_host(kry_device **device)
{
    const kry_status st = kryi_host_check_kernels();
    return st < 0 ? st : kryi_host_open(device);
}

/* The first GPU, else the host, whose kernels need not be compiled, else what OpenCL has. */
static kry_status open_best(bool times, kry_device **device)
{
    kry_status st = KRY_OK;
    cl_device_id id = NULL;

    TRY(kryi_device_find_gpu(&id));
    if (!id && kryi_host_check_kernels() == KRY_OK) return kryi_host_open(device);
    if (!id) TRY(kryi_device_find("opencl", &id));
    TRY(kryi_device_open_id(id, times, device));
done:
    return st;
}

kry_status kryi_device_open_aside(kry_device **device)
{
    return kryi_host_check_kernels() == KRY_OK ? kryi_host_open(device)
                                               : kry_device_open("opencl", device);
}

static kry_status open_by(const char *spec, bool times, kry_device **device)
{
    kry_status st = KRY_OK;
    cl_device_id id = NULL;

    *device = NULL;
    if (!spec || !*spec) spec = getenv("KRY_DEVICE");
    if (!spec || !*spec) return open_best(times, device);
    if (!strcmp(spec, "host")) return open_host(device);
    if (is_host(spec)) return open_team(spec, times, device); /* without a look for OpenCL */
    st = kryi_device_find(spec, &id);
    if (st == KRY_ERR_ARGUMENT && is_team(spec)) /* it is not the name of one device */
        return open_team(spec, times, device);
    TRY(st);
    TRY(kryi_device_open_id(id, times, device));
done:
    return st;
}

kry_status kry_device_open(const char *spec, kry_device **device)
{
    const kry_status st = GIVEN(device);
    return st < 0 ? st : open_by(spec, false, device);
}

kry_status kry_device_open_timed(const char *spec, kry_device **device)
{
    const kry_status st = GIVEN(device);
    return st < 0 ? st : open_by(spec, true, device);
}
