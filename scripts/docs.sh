#!/usr/bin/env bash
# docs.sh [FOLDER]: build the site of the documentation in site/ or FOLDER.
# It needs the packages of the extra "docs" in pyproject.toml, but not TosLoc itself. A dead link or
# anchor is an error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
zensical=zensical
if [ -x .venv/bin/zensical ]; then
    zensical="$PWD/.venv/bin/zensical"
fi
if ! command -v "$zensical" >/dev/null; then
    echo "docs.sh: zensical is not installed. Run: pip install zensical" >&2
    exit 2
fi
mkdir -p "${1:-site}"
site="$(cd "${1:-site}" && pwd)"
if [ -n "$(ls -A "$site")" ] && [ ! -e "$site/sitemap.xml" ]; then
    echo "docs.sh: $site contains other files. Name an empty folder." >&2
    exit 2
fi
staged="$(mktemp -d)"
trap 'rm -rf "$staged"' EXIT
mkdir "$staged/pages"
# The files that pages link to are staged at their paths in the repository, so that a link works
# both there and on the site.
git ls-files -z -- ./*.md 'docs/*.md' docs/figures examples action/README.md action/requirements.txt \
    checkpoints/README.md LICENSE CITATION.cff constraints.txt tosloc/localize/answer.schema.json |
    tar --null -T - -cf - | tar -xf - -C "$staged/pages"
cp zensical.toml "$staged"
(cd "$staged" && "$zensical" build --strict)
rm -rf "${site:?}"/*
cp -r "$staged/site/." "$site"
echo "$site/index.html"
