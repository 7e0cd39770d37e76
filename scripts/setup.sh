# Sourced by try.sh and test.sh: goes to the project's folder and sees to its .venv; quick when that is done.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# newest_python: $PYTHON, else a Python of 3.11 or later, 3.11 first, because the constraints were made with it.
newest_python() {
    local name
    for name in ${PYTHON:-} python3.11 python3.12 python3.13 python3.14 python3 python; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    echo "TosLoc needs Python 3.11 or later; install it and run this again" >&2
    return 1
}

# set_up [dev]: .venv with TosLoc in it, and with the extra [dev] its tests and checks.
set_up() {
    local extra="${1:-}" python wanted
    wanted="$(cat pyproject.toml constraints.txt <(pwd) | cksum)"
    if .venv/bin/python -c '' 2>/dev/null &&
        [[ "$(cat .venv/.ready-dev 2>/dev/null)" == "$wanted" ||
            (-z "$extra" && "$(cat .venv/.ready 2>/dev/null)" == "$wanted") ]]; then
        return
    fi
    echo "setting up .venv (the first time takes a few minutes)" >&2
    if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
        python="$(newest_python)"
        "$python" -m venv --clear .venv
    fi
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        --constraint constraints.txt --editable ".${extra:+[$extra]}" >&2
    echo "$wanted" >".venv/.ready${extra:+-$extra}"
}
