#!/usr/bin/env bash
# get_data.sh [FOLDER]: the published bug reports of Ye et al. (FSE 2014), figshare article 951967, in data/ye2014 or FOLDER.
set -euo pipefail
folder="${1:-data/ye2014}"
article="https://api.figshare.com/v2/articles/951967"
mkdir -p "$folder"
cd "$folder"

checked() {
    sha256sum --check --quiet "$@" - <<'SUMS'
e2cd4060de50a69e630342a92ece5aec4fae4912432c658f080cba4688017340  Tomcat.xlsx
c70ccae28042c43bc00c9c62b8f183de22975b2884ef7659e2d1b72d8cd276cb  SWT.xlsx
54459df763dee5dc1c2a7c044c118c7139b506598bcb6d7a98d079446d9eec2e  JDT.xlsx
edab6a98180284da288bbd94975f1c614fddd3111125d94ca5379308a034ac80  Birt.xlsx
SUMS
}

if checked --status 2>/dev/null; then
    echo "$folder: all four files are there"
    exit
fi
if ! listing="$(curl --fail --silent --show-error --location "$article")"; then
    echo "get_data.sh: $article cannot be reached; download the article's files by hand into $folder, and run this again" >&2
    exit 2
fi
python3 -c 'import json, sys
for file in json.load(sys.stdin)["files"]: print(file["download_url"], file["name"])' <<<"$listing" |
    while read -r address name; do
        curl --fail --silent --show-error --location --output "$name.part" "$address"
        mv "$name.part" "$name"
    done
for archive in *.zip; do
    if [[ -e "$archive" ]]; then
        python3 -m zipfile -e "$archive" .
    fi
done
if ! checked; then
    echo "get_data.sh: files of $article are missing or are not those that the results were made with" >&2
    exit 2
fi
echo "$folder: Tomcat.xlsx SWT.xlsx JDT.xlsx Birt.xlsx"
