#!/bin/sh
# package.sh [FILE] - the archive that Octave's "pkg install" takes; default kry-VERSION.tar.gz here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n 's/^Version: //p' "$here/DESCRIPTION")
archive=${1:-kry-$version.tar.gz}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/kry-$version"
cp -r "$here/DESCRIPTION" "$here/COPYING" "$here/INDEX" "$here/inst" "$folder/kry-$version/"
# the functions that come of a pattern, each in a file of its own
grep -v '^#' "$here/methods/functions" | while read -r pattern names; do
    for name in $names; do
        sed "s/NAME/$name/g" "$here/methods/${pattern%:}.m" > "$folder/kry-$version/inst/@gpuMatrix/$name.m"
    done
done
mkdir "$folder/kry-$version/src"
cp "$here"/src/*.c "$here"/src/*.h "$here"/src/Makefile "$folder/kry-$version/src/"
tar -czf "$archive" -C "$folder" "kry-$version"
echo "$archive"
