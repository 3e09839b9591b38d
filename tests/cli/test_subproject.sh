#!/bin/sh
# test_subproject.sh SOURCE - kry inside of another Meson project: the library alone, static if that is asked for.
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/subprojects"
ln -s "$1" "$dir/subprojects/kry"
cat >"$dir/meson.build" <<'END'
project('outer', 'c', default_options: ['default_library=static'])
executable('outer', 'main.c', dependencies: [dependency('kry', fallback: ['kry', 'kry_dep']),
  dependency('kry-gallery', fallback: ['kry', 'gallery_dep']),
  dependency('kry-queue', fallback: ['kry', 'queue_dep']), dependency('kry-report', fallback: ['kry', 'report_dep'])])
END
cat >"$dir/main.c" <<'END'
#include <kry/problem.h>
#include <kry/queue.h>
#include <kry/report.h>
#include <kry/kry.h>
int main(void) { kry_problem_release(NULL); return kry_version()[0] != KRY_VERSION[0] || kry_queue_name(NULL) || kry_report_monitor(NULL, NULL); }
END
number=0
check() {
    number=$((number + 1))
    [ "$1" = "$2" ] || printf 'not '
    echo "ok $number - $3: $1"
}
echo 1..3
meson setup "$dir/build" "$dir" >"$dir/log" 2>&1 || cat "$dir/log" >&2
# The library and those of eigenvalues, gallery, queue and report, shared and static, what pages are drawn with, the file with the paths, and the program outside; and kernels of the device host.
check "$(meson introspect --targets "$dir/build" | grep -o '"name": "[^"]*"' | grep -vc '"host_')" 13 'targets'
check "$(grep 'build outer: .*libkry\.a' "$dir/build/build.ninja" | grep -c 'libkry-gallery\.a.*libkry-queue\.a.*libkry-report\.a')" 1 'linked with the static libraries'
check "$(grep 'build outer: ' "$dir/build/build.ninja" | grep -c 'libkry.*\.so')" 0 'not with the shared ones'
