#!/usr/bin/env bash
# make.sh CLONE: write flask.pack again, from a clone of https://github.com/pallets/flask.
#
# The pack has every commit and directory up to the commit in commit.txt, and the contents of the
# files of that commit alone, without its pictures. TosLoc reads no older contents.
set -euo pipefail
clone="$(cd "${1:?usage: make.sh CLONE}" && pwd)"
cd "$(dirname "${BASH_SOURCE[0]}")"
commit="$(cat commit.txt)"
# One thread, so that the same version of git writes the same bytes.
{
    git -C "$clone" rev-list --objects --filter=blob:none "$commit"
    git -C "$clone" ls-tree -r "$commit" |
        awk '$2 == "blob" && !/\.(png|ico|svg)$/ { print $3, $4 }'
} | git -C "$clone" -c pack.compression=9 pack-objects --threads=1 --window=250 --depth=250 \
    --no-reuse-delta --no-reuse-object --quiet --stdout >flask.pack.new
mv flask.pack.new flask.pack
echo "flask.pack: $(wc -c <flask.pack) bytes"
