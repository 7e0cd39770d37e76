#!/usr/bin/env bash
# unpack.sh FOLDER: write the example repository to FOLDER, unless it is there and complete.
set -euo pipefail
folder="${1:?usage: unpack.sh FOLDER}"
here="$(dirname "${BASH_SOURCE[0]}")"
pack="$here/flask.pack"
commit="$(cat "$here/commit.txt")"
# A git hook exports GIT_DIR and its like, which would win over the folders named below.
# shellcheck disable=SC2046
unset $(git rev-parse --local-env-vars)

is_complete() {
    local head
    cmp -s "$pack" "$folder"/objects/pack/pack-*.pack || return
    head="$(git --git-dir="$folder" rev-parse --verify 'HEAD^{commit}' 2>/dev/null)" || return
    [[ "$head" == "$commit" ]]
}

if is_complete; then
    exit
fi
mkdir -p "$(dirname "$folder")"
# The folder gets its name last, so that an interrupted run leaves nothing that looks complete.
new="$(mktemp -d "$folder.XXXXXX")"
trap 'rm -rf "$new"' EXIT
git init --quiet --bare --template= --object-format=sha1 --initial-branch=main "$new"
git --git-dir="$new" index-pack --stdin <"$pack" >/dev/null
git --git-dir="$new" update-ref HEAD "$commit"
git --git-dir="$new" config remote.origin.url https://github.com/pallets/flask
rm -rf "$folder"
mv "$new" "$folder"
