#!/usr/bin/env bash
# compare_features.sh [REVISION] [FOLDER]: rank the reports of FOLDER (runs/feature-data, as
# feature_data.py makes it) with the features of REVISION (main) and with those of the work tree,
# and compare the two rankings. Each project is ranked by weights that were learned on the others.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root="$PWD"
data="${2:-runs/feature-data}"
if [[ ! -f "$data/projects.toml" ]]; then
    echo "compare_features.sh: $data has no projects.toml. Run: python scripts/feature_data.py" >&2
    exit 2
fi
data="$(cd "$data" && pwd)"
commit="$(git rev-parse --verify --quiet --short=10 "${1:-main}^{commit}")" || {
    echo "compare_features.sh: there is no revision ${1:-main} in $root" >&2
    exit 2
}
checkout="$(mktemp -d)"
trap 'git worktree remove --force "$checkout" 2>/dev/null || rm -rf "$checkout"' EXIT
git worktree add --quiet --detach "$checkout" "$commit"

# rank FOLDER WORK: rank with the package in FOLDER, and keep the runs in WORK.
rank() {
    (cd "$1" && PYTHONPATH="$1" "$root/.venv/bin/python" -m tosloc lab pretrain \
        --projects "$data/projects.toml" --work "$2" >/dev/null)
}

rank "$checkout" "$data/$commit"
rm -rf "$data/work-tree" # its tables are of an earlier state of the work tree
rank "$root" "$data/work-tree"
cd "$data"
PYTHONPATH="$root" "$root/.venv/bin/python" -m tosloc lab compare "$commit/left-out" work-tree/left-out
