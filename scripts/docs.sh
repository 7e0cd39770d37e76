#!/usr/bin/env bash
# docs.sh [FOLDER]: the pages as a site in site/ or FOLDER, by mkdocs-material (pip install '.[docs]'); a dead link ends it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! command -v mkdocs >/dev/null; then
    echo "docs.sh: mkdocs is not there; run: pip install 'mkdocs-material>=9'" >&2
    exit 2
fi
mkdir -p "${1:-site}"
site="$(cd "${1:-site}" && pwd)"
staged="$(mktemp -d)"
trap 'rm -rf "$staged"' EXIT
mkdir "$staged/pages"
# the files that pages link to lie beside them as in the repository, so that the same links work in both
git ls-files -z -- ./*.md docs action/README.md action/requirements.txt checkpoints/README.md examples/README.md LICENSE CITATION.cff \
    constraints.txt tosloc/localize/answer.schema.json | tar --null -T - -cf - | tar -xf - -C "$staged/pages"
cp mkdocs.yml "$staged"
NO_MKDOCS_2_WARNING=1 mkdocs build --strict --config-file "$staged/mkdocs.yml" --site-dir "$site"
echo "$site/index.html"
