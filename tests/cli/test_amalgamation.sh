#!/bin/sh
# test_amalgamation.sh SOURCE BUILD HEADER FILE CC... - kry.h and kry.c, compiled as users do, have the answers of libkry in BUILD.
# With KRY_FULL also optimised, and by clang if it is there.
# shellcheck disable=SC2086 # compilers are commands of several words
set -u
source=$1 build=$2 header=$3 file=$4
shift 4
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/kry"
cp "$header" "$file" "$dir/kry"
unset KRY_CL_PATH # the kernels that are inside
number=0
check() {
    number=$((number + 1))
    [ "$1" = "$2" ] || printf 'not '
    echo "ok $number - $3: $1"
}

cat >"$dir/solves.c" <<'END'
/* Solve (A x)_i = 4 x_i - 1.2 x_{i-1} - 0.8 x_{i+1} - x_{i-m} - x_{i+m} = 1 (or 1 in place of 1.2 and 0.8) as each of the arguments says. */
#include <kry/kry.h>
#include <stdio.h>
#include <string.h>
enum { m = 24, n = m * m };

static int solve(kry_device *device, const char *words, double skew)
{
    static int64_t row_ptr[n + 1];
    static int32_t col[5 * n];
    static double val[5 * n], u[n];
    uint64_t hash = 0xcbf29ce484222325;
    int64_t nnz = 0;
    kry_op *A = NULL, *solver = NULL;
    kry_vec *b = NULL, *x = NULL;
    kry_result result = { 0 };
    kry_status st;

    for (int i = 0; i < n; i++) {
        const int by[] = { -m, -1, 0, 1, m };
        const double value[] = { -1, -1 - skew, 4, -1 + skew, -1 };
        row_ptr[i] = nnz;
        for (int k = 0; k < 5; k++)
            if (i + by[k] >= 0 && i + by[k] < n) col[nnz] = i + by[k], val[nnz++] = value[k];
    }
    row_ptr[n] = nnz;
    if ((st = kry_csr_create(device, KRY_F64, n, n, row_ptr, col, val, KRY_MATRIX(.traits = skew ? 0 : KRY_POSITIVE), &A)) < 0) goto done;
    if ((st = kry_vec_create(device, KRY_F64, n, 1, &b)) < 0) goto done;
    if ((st = kry_vec_create(device, KRY_F64, n, 1, &x)) < 0) goto done;
    if ((st = kry_vec_fill(b, 1.0)) < 0) goto done;
    if ((st = kry_solver_create(A, words, NULL, NULL, &solver)) < 0) goto done;
    if ((st = kry_solve(solver, b, x, &result)) < 0) goto done;
    if ((st = kry_vec_read(x, u)) < 0) goto done;
    for (size_t i = 0; i < sizeof u; i++) hash = (hash ^ ((const unsigned char *)u)[i]) * 0x100000001b3;
    printf("%s: %d iterations, %016llx\n", words, (int)result.iterations, (unsigned long long)hash);
done:
    if (st) printf("%s: %s\n", words, kry_last_error());
    kry_op_release(&solver);
    kry_op_release(&A);
    kry_vec_release(&b);
    kry_vec_release(&x);
    return st;
}

int main(int count, char **words)
{
    kry_device *device;
    kry_mtx *mtx;
    int wrong = 0;

    if (kry_device_open(NULL, &device) < 0) return puts(kry_last_error()), 1;
    for (int i = 1; i < count; i++)
        if (strstr(words[i], ".gz")) {
            if (kry_mtx_read(words[i], &mtx) < 0) puts(kry_last_error());
        } else
            wrong += solve(device, words[i], strstr(words[i], "method=pcg") ? 0 : 0.2) != KRY_OK;
    kry_device_release(&device);
    return wrong;
}
END
printf '\037\213' >"$dir/a.mtx.gz"
cc=$*
if [ -z "${KRY_FULL-}" ]; then
    set -- "$cc -O0"
elif command -v clang >/dev/null; then
    set -- "$cc -O2" "clang -O1"
else
    set -- "$cc -O2"
fi
echo "1..$((3 + 6 * $#))"

cases() {
    KRY_DEVICE=opencl "$1" "method=pcg precond=amg" "method=bicgstab precond=ilu" "method=pcg precision=mixed"
}
libkry="-L$build -lkry -Wl,-rpath,$build"
$cc -I"$source/include" "$dir/solves.c" $libkry -o "$dir/with_library" || exit 1
cases "$dir/with_library" >"$dir/wanted"
check "$(grep -c 'iterations, ' "$dir/wanted")" 3 'solved with libkry'
check "$($cc -M "$dir/kry/kry.c" | grep -cE '/CL/|zlib')" 0 'headers of OpenCL or zlib'
options='-std=c11 -Wall -Wextra'
check "$($cc $options -fsyntax-only -DKRY_HAVE_ZLIB "$dir/kry/kry.c" 2>&1)" '' 'what the compiler says with zlib'
for cc; do
    check "$($cc $options -c "$dir/kry/kry.c" -o "$dir/kry.o" 2>&1)" '' "$cc, what it says"
    check "$(nm -g --defined-only "$dir/kry.o" | grep -vcE ' kryi?_')" 0 "$cc, names of others"
    for program in "$source/docs/examples/02_solve_arrays.c" "$dir/solves.c"; do
        $cc $options -I"$dir" "$program" "$dir/kry.o" -ldl -lm -lpthread -o "$dir/$(basename "$program" .c)"
    done
    check "$(KRY_DEVICE=opencl "$dir/02_solve_arrays")" "$(KRY_DEVICE=opencl "$build/docs/examples/example_02_solve_arrays")" "$cc, an example"
    cases "$dir/solves" >"$dir/found"
    check "$(diff "$dir/wanted" "$dir/found")" '' "$cc, bits that differ"
    check "$("$dir/solves" "$dir/a.mtx.gz")" "'$dir/a.mtx.gz' is gzip'd, and this kry has no zlib that fits" "$cc, without zlib"
    LC_ALL=C sed 's/libOpenCL\.so/libNoneCL.so/g' "$dir/solves" >"$dir/alone"
    chmod +x "$dir/alone"
    check "$("$dir/alone")" "there is no OpenCL on this machine (libNoneCL.so.1), and kry.c has no kernels for the host: \
install the driver of a GPU, or pocl-opencl-icd for the CPU" "$cc, without OpenCL"
done
