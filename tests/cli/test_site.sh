#!/bin/sh
# test_site.sh SOURCE - the pages make a site: mkdocs builds it without a warning. Skipped without mkdocs.
cd "${1:?usage: test_site.sh SOURCE}" || exit 99
command -v mkdocs >/dev/null || { echo 'skipped: no mkdocs (apt-get install mkdocs)'; exit 77; }
site=$(mktemp -d) || exit 99
trap 'rm -rf "$site"' EXIT
mkdocs build --strict --quiet --site-dir "$site" && [ -s "$site/index.html" ] && [ -s "$site/solvers.html" ]
