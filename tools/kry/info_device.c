/*
 * info_device.c - kry info --device: what was measured on a device and is kept for later runs; for
 * a matrix, what a product in each format should take there.
 */
#include "commands.h"
#include "json.h"
#include "page/text.h"
#include "source.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void print_entry(const char *name, const char *value, void *user)
{
    const bool *as_json = user;
    if (!*as_json) {
        printf("  %-24s %s\n", name, value);
        return;
    }
    json j = json_begin(stdout);
    json_text(&j, "tuning", name);
    json_text(&j, "value", value);
    json_end(&j);
}

static void print_device(kry_device *dev, bool as_json)
{
    const kry_device_info *d = kry_device_get_info(dev);
    const kry_launch_shape shape = kry_device_launch_shape(dev);
    char path[600];

    kry_tuning_path(dev, path, sizeof path);
    if (as_json) {
        json j = json_begin(stdout);
        json_text(&j, "device", d->name);
        json_text(&j, "platform", d->platform);
        json_text(&j, "driver", d->driver);
        json_bool(&j, "cpu_kernels", d->cpu_kernels);
        json_whole(&j, "group", shape.group);
        json_whole(&j, "groups_per_unit", shape.per_unit);
        json_whole(&j, "chunks", shape.chunks);
        json_text(&j, "tuning_file", path);
        json_end(&j);
        return;
    }
    printf("device       %s, %s, driver %s\n", d->name, d->platform, d->driver);
    if (d->cpu_kernels)
        printf("launches     %d chunks\n", shape.chunks);
    else
        printf("launches     groups of %d, %d to each of %d compute units\n", shape.group,
               shape.per_unit, d->compute_units);
    printf("kept in      %s\n",
           *path ? path : "nothing is kept: there is no cache folder that you alone can write");
}

kry_status info_device(const options *o)
{
    kry_status st = KRY_OK;
    kry_device *dev = NULL;
    bool as_json = o->json;

    TRY(kry_device_open(o->device, &dev));
    print_device(dev, as_json);
    kry_tuning_each(dev, print_entry, &as_json);
done:
    kry_device_release(&dev);
    return st;
}

static void print_prediction(const char *format, double seconds, bool as_json)
{
    char text[32];
    if (!as_json) {
        printf("             %-7s %s\n", format, kryi_text_seconds(seconds, text, sizeof text));
        return;
    }
    json j = json_begin(stdout);
    json_text(&j, "format", format);
    json_real(&j, "predicted_seconds", seconds);
    json_end(&j);
}

kry_status info_prediction(const options *o, const sparse *A)
{
    kry_status st = KRY_OK;
    kry_device *dev = NULL;
    double seconds[KRY_FORMAT_COUNT];

    TRY(kry_device_open(o->device, &dev));
    TRY(kry_csr_predict(dev, KRY_F64, A->rows, A->cols, A->row_ptr, A->col, A->val, NULL, seconds));
    if (!o->json)
        printf("product      expected on %s, in double:\n", kry_device_get_info(dev)->name);
    for (kry_format f = KRY_FORMAT_CSR; f < KRY_FORMAT_COUNT; f++)
        if (isfinite(seconds[f])) print_prediction(kry_format_name(f), seconds[f], o->json);
done:
    kry_device_release(&dev);
    return st;
}
