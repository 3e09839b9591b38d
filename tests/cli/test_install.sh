#!/bin/sh
# test_install.sh SOURCE BUILD - install kry into an empty folder, and use it from another one.
#
#   SOURCE   the source tree, with docs/, include/, README.md, ...
#   BUILD    what is installed, as into the folder of a package
#
# With KRY_FULL a copy of the sources is configured, compiled and installed, and removed again before anything runs, so that
# only what was installed can be found. The programs that are compiled are the one in README.md, and kry itself. Speaks TAP.

source=${1:?usage: test_install.sh SOURCE BUILD}
build=${2:?usage: test_install.sh SOURCE BUILD}
dir=$(mktemp -d "${TMPDIR:-/tmp}/kry-install.XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
count=0

# ok NAME COMMAND... - one line of TAP; what the command said if it failed. The rest needs it.
ok()
{
    name=$1
    count=$((count + 1))
    shift
    if "$@" >"$dir/out" 2>&1; then
        echo "ok $count - $name"
    else
        echo "not ok $count - $name"
        sed 's/^/# /' "$dir/out"
        echo "1..$count"
        exit 0
    fi
}

skip()
{
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

copy_sources()
{
    mkdir "$dir/source" &&
        for part in bindings cl docs include lib papers src tests tools meson.build meson_options.txt \
            README.md CHANGELOG.md CONTRIBUTING.md LICENSE; do
            cp -r "$source/$part" "$dir/source/" || return 1
        done &&
        : >"$dir/source/tests/meson.build" # no test is installed, so none is compiled
}

# pkg-config puts the folder before the prefix of the build.
install_build()
{
    DESTDIR=$dir meson install -C "$build" --no-rebuild && [ -e "$prefix" ]
}

# As on a Debian without dpkg-dev, where Meson by itself installs into lib64, and with an MPI that has no headers.
build_and_install()
{
    mkdir "$dir/bare" && printf '#!/bin/sh\nexit 1\n' >"$dir/bare/dpkg-architecture" &&
        chmod +x "$dir/bare/dpkg-architecture" &&
        printf 'Name: ompi-c\nDescription: the runtime alone\nVersion: 4.1.4\n' >"$dir/bare/ompi-c.pc" &&
        PATH=$dir/bare:$PATH PKG_CONFIG_PATH=$dir/bare meson setup "$build" "$source" --prefix="$prefix" \
            --buildtype=debug &&
        meson install -C "$build"
}

installed()
{
    for file in include/kry/kry.h include/kry/opencl.h include/kry/eigenvalues.h include/kry/problem.h include/kry/queue.h include/kry/report.h lib/libkry.so lib/libkry-gallery.so lib/libkry-gallery.a lib/libkry-eigenvalues.so lib/libkry-eigenvalues.a \
        lib/libkry-queue.so lib/libkry-queue.a lib/libkry-report.so lib/libkry-report.a lib/pkgconfig/kry.pc lib/pkgconfig/kry-gallery.pc lib/pkgconfig/kry-queue.pc \
        lib/pkgconfig/kry-report.pc lib/pkgconfig/kry-eigenvalues.pc bin/kry \
        lib/cmake/kry/kry-config.cmake lib/cmake/kry/kry-config-version.cmake share/man/man1/kry.1 \
        share/bash-completion/completions/kry share/doc/kry/README.md share/doc/kry/docs/README.md; do
        [ -s "$prefix/$file" ] || { echo "$file is not installed"; return 1; }
    done
}

# Every link of an installed page to a header.
links_to_headers()
{
    find "$prefix/share/doc/kry" -name '*.md' >"$dir/pages"
    links=0
    while read -r page; do
        grep -o ']([./]*include/[^)#]*' "$page" | sed 's/^](//' >"$dir/links"
        while read -r link; do
            links=$((links + 1))
            [ -e "${page%/*}/$link" ] || { echo "$page: $link leads nowhere"; return 1; }
        done <"$dir/links"
    done <"$dir/pages"
    [ "$links" -gt 20 ] || { echo "only $links links"; return 1; }
}

every_header()
{
    for file in "$source/include/kry/"* "$source/lib/"*/include/kry/*; do
        cmp "$file" "$prefix/include/kry/${file##*/}" || return 1
    done
}

# Whoever finds the folder of the sources or of the build free could put kernels of his own there.
no_path_of_the_tree()
{
    for file in lib/libkry.so lib/libkry-eigenvalues.so lib/libkry-gallery.so lib/libkry-queue.so lib/libkry-report.so bin/kry; do
        strings -d "$prefix/$file" >"$dir/strings"
        [ -s "$dir/strings" ] && ! grep -m3 -e "$dir" -e "$source" -e "$build" "$dir/strings" || return 1
    done
}

soname()
{
    for library in libkry libkry-eigenvalues libkry-gallery libkry-queue libkry-report; do
        readelf -d "$prefix/lib/$library.so" | tee "$dir/elf" | grep "SONAME.*\[$library\.so\.[0-9]*\]" &&
            file=$(sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p' "$dir/elf") && [ -e "$prefix/lib/$file" ] || return 1
    done
}

only_public_symbols()
{
    for library in libkry:kry_op_apply libkry-eigenvalues:kry_eigen_sized libkry-gallery:kry_problem_create libkry-queue:kry_task_apply libkry-report:kry_report_write; do
        nm -D --defined-only "$prefix/lib/${library%:*}.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' >"$dir/symbols"
        grep -x "${library#*:}" "$dir/symbols" && ! grep -v '^kry_' "$dir/symbols" || return 1
    done
}

# What is linked with the static library shares its names: no global symbol but kry_... and, internal, kryi_...
static_symbols()
{
    for library in libkry:kry_op_apply libkry-eigenvalues:kry_eigen_sized libkry-gallery:kry_problem_create libkry-queue:kry_task_apply libkry-report:kry_report_write; do
        nm -g --defined-only "$prefix/lib/${library%:*}.a" | awk 'NF == 3 { print $3 }' >"$dir/symbols"
        grep -x "${library#*:}" "$dir/symbols" && ! grep -v '^kryi\{0,1\}_' "$dir/symbols" || return 1
    done
}

# The first block of C in README.md.
readme_program()
{
    awk '/^```c$/ { on = 1; next } /^```/ && on { exit } on' "$source/README.md" >ten.c &&
        grep 'int main' ten.c
}

# The program kry, with the papers that it repeats, and what it draws pages with, which knows public headers alone.
program_sources()
{
    mkdir program && cp -r "$source/tools/kry" "$source/papers" "$source/lib/page" "$source/lib/"*.[ch] program/
}

version()
{
    [ "$(pkg-config --modversion kry)" = "$("$prefix/bin/kry" --version | sed 's/kry //')" ]
}

compile()
{
    # shellcheck disable=SC2046 # flags are words
    cc -std=c11 -Wall -Wextra -Werror ten.c -o ten $(pkg-config --cflags --libs kry-gallery) -lm
}

# The files of pkg-config that stand for what the library needs are not asked for.
no_other_packages()
{
    mkdir only && cp "$prefix/lib/pkgconfig/kry.pc" only/ &&
        PKG_CONFIG_LIBDIR=$PWD/only PKG_CONFIG_PATH='' pkg-config --cflags --libs kry
}

# The same program through CMake: the package is found, also after its folder was moved, and by a version that
# it is good for alone.
cmake_package()
{
    mkdir cmake && cp ten.c cmake/ && cat >cmake/CMakeLists.txt <<'END' || return 1
cmake_minimum_required(VERSION 3.10)
project(ten C)
find_package(kry ${WANTED} CONFIG REQUIRED)
add_executable(ten ten.c)
target_link_libraries(ten PRIVATE kry::eigenvalues kry::gallery kry::queue kry::report m)
END
    major=$(pkg-config --modversion kry | cut -d. -f1,2)
    mv "$prefix" "$dir/moved"
    export CMAKE_GENERATOR=Ninja
    cmake -S cmake -B cmake/build -DCMAKE_PREFIX_PATH="$dir/moved" -DWANTED="$major" &&
        cmake --build cmake/build && LD_LIBRARY_PATH=$dir/moved/lib ldd cmake/build/ten | grep moved/lib/libkry
    status=$?
    for wrong in 99.0 "$major.99"; do
        cmake -S cmake -B cmake/other -DCMAKE_PREFIX_PATH="$dir/moved" -DWANTED="$wrong" && status=1
    done
    mv "$dir/moved" "$prefix" && [ $status = 0 ]
}

# The manual has all options of the program, and bash completes them.
manual_and_completion()
{
    "$prefix/bin/kry" help solve | sed -n 's/^  \(--[a-z-]*\).*/\1/p' >options
    [ "$(wc -l <options)" -gt 20 ] || return 1
    sed 's/\\-/-/g' "$prefix/share/man/man1/kry.1" >kry.1
    while read -r option; do grep -q -e "$option" kry.1 || return 1; done <options
    grep 'KRY_CACHE_DIR' kry.1 && bash -e "$prefix/share/bash-completion/completions/kry" || return 1
    if command -v man >/dev/null; then
        man --warnings -l "$prefix/share/man/man1/kry.1" 2>&1 >/dev/null | grep . && return 1
    fi
    PATH=$prefix/bin:$PATH bash -c '. "$1"; COMP_WORDS=(kry solve --method "") COMP_CWORD=3; _kry
        echo "${COMPREPLY[*]}"; COMP_WORDS=(kry solve --prec) COMP_CWORD=2; _kry; echo "${COMPREPLY[*]}"' \
        - "$prefix/share/bash-completion/completions/kry" >words
    grep 'cg pcg' words && grep -e '--precond --precision' words
}

run()
{
    ./ten | tee "$dir/answer" && grep -i 'success after [1-9][0-9]* iterations' "$dir/answer"
}

# Work in the background, by its own library.
queue_program()
{
    # shellcheck disable=SC2046
    cc -std=c11 -Wall -Wextra -Werror "$prefix/share/doc/kry/docs/examples/07_background.c" -o background \
        $(pkg-config --cflags --libs kry-queue) -lm && ./background
}

# A program that was compiled before the last fields came to the structs that the library fills in.
earlier_headers()
{
    cp -r "$prefix/include" earlier &&
        sed -i -e '/^ *const kry_true_residual \*checks;$/d' -e '/^ *int64_t check_count;$/d' earlier/kry/solver.h &&
        sed -i -e '/^ *double bytes_transposed; /d' earlier/kry/op.h &&
        sed -i -e '/^ *int opencl; /d' earlier/kry/device.h && cat >earlier.c <<'END' || return 1
#include <kry/kry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A struct with a canary behind it. */
#define GUARDED(type) struct { type it; unsigned char canary[256]; }
static int is_alive(const unsigned char *canary)
{
    for (int i = 0; i < 256; i++)
        if (canary[i] != 0x5a) return 0;
    return 1;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) { /* the sizes, to be compared with today's */
        printf("%zu %zu %zu\n", sizeof(kry_result), sizeof(kry_op_info), sizeof(kry_device_info));
        return 0;
    }
    static GUARDED(kry_result) result;
    static GUARDED(kry_op_info) info;
    const double b[] = { 1, 2, 3, 4 };
    double x[] = { 0, 0, 0, 0 };
    kry_device *device = NULL;
    kry_device_info *list = NULL;
    kry_op *A = NULL, *S = NULL;
    int count = 0;

    memset(&result, 0x5a, sizeof result), memset(&info, 0x5a, sizeof info);
    if (kry_device_list(&list, &count) || kry_device_open(NULL, &device)) return 1;
    for (int i = 0; i < count; i++)
        if (!*list[i].name || !*list[i].platform || list[i].max_group < 1) return 2;
    if (kry_stencil_create(device, KRY_F64, KRY_STENCIL(.size = { 2, 2 }), &A)) return 3;
    kry_op_describe(A, &info.it);
    if (!is_alive(info.canary) || strcmp(info.it.kind, "stencil")) return 4;
    if (kry_solver_create(A, "method=cg", NULL, NULL, &S)) return 5;
    if (kry_solve_host(S, b, x, &result.it) || !is_alive(result.canary)) return 6;
    if (result.it.iterations < 1 || result.it.reason != KRY_CONVERGED) return 7;
    kry_op_release(&S), kry_op_release(&A), kry_device_release(&device);
    free(list);
    return 0;
}
END
    # shellcheck disable=SC2046
    cc -std=c11 -Wall -Wextra -Iearlier earlier.c -o earlier_program $(pkg-config --libs kry) &&
        cc -std=c11 $(pkg-config --cflags kry) earlier.c -o todays_program $(pkg-config --libs kry) || return 1
    # shellcheck disable=SC2046 # six numbers: all three structs are shorter there
    set -- $(./earlier_program sizes) $(./todays_program sizes)
    [ "$1" -lt "$4" ] && [ "$2" -lt "$5" ] && [ "$3" -lt "$6" ] && ./todays_program && ./earlier_program
}

# With everything that the library needs from pkg-config; moved to another folder, with nothing of kry beside it.
static_copy()
{
    # shellcheck disable=SC2046
    cc -std=c11 ten.c -o ten_static $(pkg-config --cflags kry) "$prefix/lib/libkry-gallery.a" "$prefix/lib/libkry.a" \
        $(pkg-config --static --libs kry | sed 's/-lkry//') -lm &&
        mkdir alone && mv ten_static alone/ && mv "$prefix" "$dir/moved" || return 1
    LD_LIBRARY_PATH='' alone/ten_static | tee "$dir/answer"
    mv "$dir/moved" "$prefix" && grep -i 'success after [1-9][0-9]* iterations' "$dir/answer"
}

moved_copy()
{
    cp -r "$prefix" "$dir/copy" && mv "$prefix" "$dir/moved" || return 1
    LD_LIBRARY_PATH=$dir/copy/lib ./ten | tee "$dir/answer"
    mv "$dir/moved" "$prefix" && grep -i 'success after [1-9][0-9]* iterations' "$dir/answer"
}

program()
{
    "$prefix/bin/kry" solve --problem poisson2d:32 --method cg --rtol 1e-6 --json |
        tee "$dir/answer" && grep '"converged": true' "$dir/answer"
}

program_from_sources()
{
    # shellcheck disable=SC2046
    cc -std=c11 -D_XOPEN_SOURCE=700 -Wall -Wextra -Werror -o kry $(find program -name '*.c' ! -name ranks.c) \
        $(find program -type d -exec echo '-I{}' ';') $(pkg-config --cflags --libs kry-eigenvalues kry-gallery kry-queue kry-report) \
        -lOpenCL -lpthread -lm -ldl &&
        ./kry solve --problem poisson2d:32 --method cg --rtol 1e-6 --json | tee "$dir/answer" &&
        grep '"iterations": 48,' "$dir/answer"
}

# The example, for the module and for its source.
fortran_program()
{
    # shellcheck disable=SC2046
    gfortran example.f90 -o fortran $(pkg-config --cflags --libs kry-fortran) && ./fortran &&
        gfortran -std=f2018 "$prefix/lib/kry-fortran/kry.f90" example.f90 -o from_source $(pkg-config --libs kry) && ./from_source
}

each_header_alone()
{
    for header in "$prefix/include/kry/"*.h; do
        case ${header##*/} in dealii.h | eigen.h | mpi.h) continue ;; esac # with deal.II, Eigen and MPI: the suites adapters and mpi
        echo "#include <kry/${header##*/}>" >one.c
        # shellcheck disable=SC2046
        cc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only $(pkg-config --cflags kry) one.c ||
            return 1
    done
}

cplusplus()
{
    printf '%s\n' '#include <kry/opencl.h>' '#include <kry/kry.h>' '#include <kry/eigenvalues.h>' '#include <kry/problem.h>' '#include <kry/queue.h>' '#include <kry/report.h>' 'const kry_matrix_params *of(const kry_matrix_params *p) { return p; }' \
        'bool csr() { return of(KRY_MATRIX(.format = KRY_FORMAT_CSR))->format == KRY_FORMAT_CSR; }' >headers.cc
    # shellcheck disable=SC2046
    g++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only $(pkg-config --cflags kry) headers.cc
}

if [ -n "${KRY_FULL-}" ]; then
    ok 'the sources are copied' copy_sources
    source=$dir/source build=$dir/build prefix=$dir/usr
    ok 'meson setup and meson install with a prefix' build_and_install
else
    prefix=$dir$(sed -n 's/^prefix=//p' "$build/meson-private/kry.pc")
    ok 'meson install with DESTDIR' install_build
    PKG_CONFIG_SYSROOT_DIR=$dir
    export PKG_CONFIG_SYSROOT_DIR
fi
mkdir "$dir/elsewhere" && cd "$dir/elsewhere" || exit 99
PKG_CONFIG_PATH=$prefix/lib/pkgconfig
LD_LIBRARY_PATH=$prefix/lib
export PKG_CONFIG_PATH LD_LIBRARY_PATH
ok 'library, headers, kry.pc and program are there' installed
ok 'no public header is left out' every_header
ok 'no path of the sources or of the build is in what is installed' no_path_of_the_tree
ok 'the links of pages to headers' links_to_headers
ok 'the libraries have a soname, and a file of that name' soname
ok 'the libraries export nothing but kry_...' only_public_symbols
ok 'and the static ones have no other global names' static_symbols
ok 'README.md has a program' readme_program
ok 'the program kry has sources' program_sources
cp "$source/bindings/fortran/example.f90" . || exit 99
rm -rf "$dir/source" "$dir/build"
unset KRY_CL_PATH KRY_PROFILE
ok 'kry.pc and the program agree on the version' version
ok 'kry.pc asks for no other package' no_other_packages
ok 'the program of README.md compiles through pkg-config' compile
ok 'it runs and converges' run
ok 'a program with work in the background, by kry-queue.pc' queue_program
ok 'a program of earlier headers, with shorter structs, gets no more than it has room for' earlier_headers
ok 'the program of README.md runs with a copy of the library in another folder' moved_copy
ok 'and a program that has the library inside, alone' static_copy
if command -v cmake >/dev/null; then
    ok 'find_package(kry) finds the package for a fitting version' cmake_package
else
    skip 'find_package(kry) finds the package for a fitting version' 'cmake is not installed'
fi
if command -v bash >/dev/null; then
    ok 'the manual page and the completion for bash know the options' manual_and_completion
else
    skip 'the manual page and the completion for bash know the options' 'bash is not installed'
fi
ok 'the installed program kry solves' program
ok 'the program kry compiles with the installed headers and library alone, and solves' \
    program_from_sources
ok 'each public header compiles alone' each_header_alone
if [ -e "$prefix/lib/kry-fortran" ]; then
    ok 'a program in Fortran, by kry-fortran.pc and with the source of the module' fortran_program
else
    skip 'a program in Fortran, by kry-fortran.pc and with the source of the module' 'kry was built without gfortran'
fi
if command -v g++ >/dev/null; then
    ok 'the headers compile as C++' cplusplus
else
    skip 'the headers compile as C++' 'g++ is not installed'
fi
echo "1..$count"
