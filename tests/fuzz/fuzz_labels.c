/* fuzz_labels.c - files of labels: the first byte is the number of unknowns, the rest the file. */
#include "fuzz.h"
#include <kry/deflation.h>
#include <kry/status.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[96];
    int32_t labels[256];
    int64_t count = -1;
    if (size < 1 || bytes[0] == 0) return 0;
    int n = bytes[0];
    for (int i = 0; i < 256; i++) labels[i] = -1;
    snprintf(path, sizeof path, "%s/labels", fuzz_folder());
    write_bytes(path, bytes + 1, size - 1);
    kry_status st = kry_labels_read(path, n, labels, &count);
    if (st < 0) {
        ENSURE(count == -1 && *kry_last_error());
        for (int i = 0; i < n; i++) ENSURE(labels[i] == -1);
    } else {
        ENSURE(count >= 1 && count <= n);
        for (int i = 0; i < n; i++) ENSURE(labels[i] >= 0 && labels[i] < count);
    }
    for (int i = n; i < 256; i++) ENSURE(labels[i] == -1);
    unlink(path);
    return 0;
}
