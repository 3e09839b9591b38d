#!/bin/sh
# test_docs.sh SOURCE - the documents say what the sources say.
#
#   SOURCE   the source tree
#
# Prints one line per failed check and ends with 1 if there was one.

cd "${1:?usage: test_docs.sh SOURCE}" || exit 99
failures=0
checks=0

# check SENTENCE COMMAND... - the sentence is printed if the command fails
check()
{
    sentence=$1
    checks=$((checks + 1))
    shift
    "$@" >/dev/null && return
    failures=$((failures + 1))
    echo "FAILED: $sentence"
}

# Every X(name, value, "text") of a list in a header is a row of docs/troubleshooting.md.
listed()
{
    sed -n 's/.*X(\(KRY_[A-Z_]*\), \([^,]*\), "\([^"]*\)").*/\1|\2|\3/p' include/kry/status.h |
        while IFS='|' read -r name value text; do echo "| \`$name\` | $value | $text |"; done
    sed -n 's/.*X(\(KRY_[A-Z_]*\), "\([^"]*\)", \(KRY_[A-Z_]*\)).*/\1|\2|\3/p' \
        include/kry/solver.h |
        while IFS='|' read -r name word status; do
            echo "| \`$name\` | \`$word\` | \`$status\` |"
        done
}

rows=$(listed)
[ "$(echo "$rows" | wc -l)" -ge 20 ] || { echo 'FAILED: the lists are not found'; exit 1; }
while IFS= read -r row; do
    check "docs/troubleshooting.md lacks \"$row\"" grep -qF "$row" docs/troubleshooting.md
done <<EOF
$rows
EOF

# A link in a document leads to a file; test_docs.py looks for the heading behind a #.
pages=$(ls ./*.md docs/*.md docs/*/*.md papers/*/*.md)
for page in $pages; do
    for link in $(grep -o '](\([^):]*\))' "$page" | sed 's/](\([^)#]*\).*/\1/'); do
        check "$page links to $link, which is not there" test -e "$(dirname "$page")/$link"
    done
done

# A page of docs/ that a source, a header or a tool names is there.
named=$(git grep -hIoE 'docs/[a-z/-]+\.md' -- . ':!CHANGELOG.md' 2>/dev/null | sort -u)
for page in $named; do
    check "a file names $page, which is not there" test -e "$page"
done

# What the pages for developers name of the library is there: functions, types, files.
for page in docs/architecture.md docs/developers/kernels.md; do
    for name in $(grep -oE '\bkry_[a-z_]*[a-z]\b' "$page" | sort -u); do
        check "$page names $name, which is not there" grep -rqw "$name" src include
    done
    for name in $(grep -oE '\b[a-z_0-9]+\.(c|h|cl|clh|py)\b' "$page" | sort -u); do
        check "$page names $name, which is not there" test -n "$(find src include lib cl tests tools -name "$name" | head -1)"
    done
done

# Somebody reads them: prose in lines of at most 120 characters, 40,000 words in all but what is generated.
for page in docs/*.md docs/developers/*.md; do
    long=$(sed '/^```/,/^```/d' "$page" | grep -vE '^(\||    |<!--)' | LC_ALL=C.UTF-8 grep -cE '^.{121}')
    check "$page has $long lines of more than 120 characters" test "$long" -eq 0
done
check "docs/ has more than 40,000 words" test "$(cat docs/*.md docs/developers/*.md | wc -w)" -le 40000

# Options of the build are explained.
for option in $(sed -n "s/^option('\([a-z_]*\)'.*/\1/p" meson_options.txt); do
    check "docs/start.md lacks the option $option" grep -q "^| \`$option\`" docs/start.md
done

# Every page of docs/ is in the index.
for page in docs/*.md docs/developers/*.md docs/reference/*.md; do
    [ "$page" = docs/README.md ] ||
        check "docs/README.md lacks ${page#docs/}" grep -qF "(${page#docs/})" docs/README.md
done

# Versions agree.
version=$(sed -n "s/.*version: '\([0-9.]*\)',/\1/p" meson.build | head -1)
check "kry.h is not version $version" grep -q "KRY_VERSION  *\"$version\"" include/kry/kry.h
check "CHANGELOG.md does not know $version" grep -q "^## $version" CHANGELOG.md

echo "$checks checks, $failures failed"
[ "$failures" -eq 0 ]
