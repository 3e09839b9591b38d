/*
 * devices.c - kry devices: one line per device.
 */
#include "commands.h"
#include "json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_json(const char *selector, const kry_device_info *info)
{
    json j = json_begin(stdout);
    json_text(&j, "device", selector);
    json_text(&j, "name", info->name);
    json_text(&j, "platform", info->platform);
    json_text(&j, "vendor", info->vendor);
    json_text(&j, "driver", info->driver);
    json_text(&j, "version", info->version);
    json_bool(&j, "gpu", info->gpu);
    json_bool(&j, "fp64", info->fp64);
    json_bool(&j, "images", info->images);
    json_whole(&j, "compute_units", info->compute_units);
    json_whole(&j, "lanes", info->lanes);
    json_whole(&j, "max_group", info->max_group);
    json_whole(&j, "local_bytes", info->local_bytes);
    json_whole(&j, "max_alloc_bytes", info->max_alloc_bytes);
    json_whole(&j, "global_bytes", info->global_bytes);
    if (info->driver_faults) json_text(&j, "driver_faults", info->driver_faults);
    json_end(&j);
}

static void print(const options *o, const char *selector, const kry_device_info *info)
{
    if (o->json) {
        print_json(selector, info);
    } else {
        printf("%-6s %s | %s | driver %s | %s | %.1f GiB | %d compute units\n", selector,
               info->name, info->platform, info->driver, info->fp64 ? "double" : "single only",
               (double)info->global_bytes / (1 << 30), info->compute_units);
        if (info->driver_faults) printf("       known of this driver: %s\n", info->driver_faults);
    }
}

/* Once: in front of the first device that is no GPU, as devices are chosen. */
static void print_host(const options *o, kry_device **host)
{
    if (*host) print(o, "host", kry_device_get_info(*host));
    kry_device_release(host);
}

kry_status devices_run(const options *o)
{
    kry_status st = KRY_OK;
    kry_device_info *info = NULL;
    kry_device *host = NULL;
    int count = 0;
    CHECK(o->word_count == 0, KRY_ERR_PARSE, "takes no \"%s\"", o->words[0]);
    st = kry_device_list(&info, &count);
    if (st == KRY_ERR_DEVICE) fprintf(stderr, "kry devices: %s\n", kry_last_error());
    if (st != KRY_ERR_DEVICE) TRY(st);
    st = KRY_OK;
    if (kry_device_open("host", &host) < 0) fprintf(stderr, "kry devices: %s\n", kry_last_error());
    for (int i = 0; i < count; i++) {
        char selector[24];
        int number = 0; /* among its kind */
        if (!info[i].gpu) print_host(o, &host);
        for (int j = 0; j < i; j++) number += !strcmp(info[j].kind, info[i].kind);
        snprintf(selector, sizeof selector, "%s:%d", info[i].kind, number);
        print(o, selector, &info[i]);
    }
    print_host(o, &host);
done:
    kry_device_release(&host);
    free(info);
    return st;
}
