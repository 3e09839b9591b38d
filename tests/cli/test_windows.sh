#!/bin/sh
# test_windows.sh SOURCE BUILD HEADER FILE - kry.h and kry.c compiled for Windows by MinGW-w64 and run under Wine, whose OpenCL.dll hands
# on what Linux has: the example of the docs prints what it prints here, and files get their names whole.
set -u
source=$1 build=$2 header=$3 file=$4
cc=x86_64-w64-mingw32-gcc-posix
wine=$(command -v wine64 || ls /usr/lib/wine/wine64 2>/dev/null)
if ! command -v "$cc" >/dev/null || [ -z "$wine" ]; then
    echo "1..0 # SKIP there is no MinGW-w64 ($cc), or no Wine (wine64)"
    exit
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/kry" "$dir/folder"
cp "$header" "$file" "$dir/kry"
unset KRY_CL_PATH
export WINEPREFIX="$build/wine" WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml,winemenubuilder.exe='
number=0
check() {
    number=$((number + 1))
    [ "$1" = "$2" ] || printf 'not '
    echo "ok $number - $3: $1"
}

cat >"$dir/files.c" <<'END'
#include <kry/kry.h>
#include <stdio.h>
#include <string.h>

/* Write a matrix of one entry over a file that may be there, and read it. */
static void write_and_read(const char *path, double value)
{
    int32_t at = 0;
    const kry_mtx one = { .rows = 1, .cols = 1, .nnz = 1, .row = &at, .col = &at, .val = &value };
    kry_mtx *read = NULL;

    if (kry_mtx_write(path, &one, NULL) < 0 || kry_mtx_read(path, &read) < 0)
        puts(kry_last_error());
    else
        printf("%s: %g\n", path, read->val[0]);
    kry_mtx_release(&read);
}

int main(void)
{
    write_and_read("folder\\a.mtx", 1.5);
    write_and_read("folder/a.mtx", 2.5);
    write_and_read("none\\a.mtx", 3.5);
    return 0;
}
END
echo 1..6
check "$("$cc" -std=c11 -Wall -Wextra -c "$dir/kry/kry.c" -o "$dir/kry.o" 2>&1)" '' 'what the compiler says'
for program in "$source/docs/examples/02_solve_arrays.c" "$dir/files.c"; do
    "$cc" -std=c11 -static -I"$dir" "$program" "$dir/kry.o" -lpthread -o "$dir/$(basename "$program" .c).exe"
done
cd "$dir" || exit 1
"$wine" cmd /c exit >/dev/null 2>&1 # the first time Wine says that it makes its folder
run() { "$wine" "$@" 2>&1 | tr -d '\r'; }
check "$(run ./02_solve_arrays.exe)" "$(KRY_DEVICE=opencl "$build/docs/examples/example_02_solve_arrays")" 'an example'
run ./files.exe >found
check "$(sed -n 1p found)" 'folder\a.mtx: 1.5' 'a file'
check "$(sed -n 2p found)" 'folder/a.mtx: 2.5' 'a file that was there'
check "$(sed -n 3p found)" "cannot write 'none\\a.mtx': No such file or directory" 'no folder'
check "$(ls -A folder)" a.mtx 'what is left'
