/*
 * devices.c - kry devices: one line per OpenCL device.
 */
#include "commands.h"
#include "json.h"
#include <stdio.h>
#include <stdlib.h>

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
    json_end(&j);
}

kry_status devices_run(const options *o)
{
    kry_status st = KRY_OK;
    kry_device_info *info = NULL;
    int count = 0, gpus = 0, others = 0;
    CHECK(o->word_count == 0, KRY_ERR_PARSE, "takes no \"%s\"", o->words[0]);
    TRY(kry_device_list(&info, &count));
    for (int i = 0; i < count; i++) {
        char selector[24];
        snprintf(selector, sizeof selector, "%s:%d", info[i].gpu ? "gpu" : "cpu",
                 info[i].gpu ? gpus++ : others++);
        if (o->json)
            print_json(selector, &info[i]);
        else
            printf("%-6s %s | %s | driver %s | %s | %.1f GiB | %d compute units\n", selector,
                   info[i].name, info[i].platform, info[i].driver,
                   info[i].fp64 ? "double" : "single only",
                   (double)info[i].global_bytes / (1 << 30), info[i].compute_units);
    }
    CHECK(count > 0, KRY_ERR_DEVICE, "the OpenCL platforms have no devices");
done:
    free(info);
    return st;
}
