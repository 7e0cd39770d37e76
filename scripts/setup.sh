# Sourced by try.sh and test.sh: change to the project's folder and define set_up, which makes its
# .venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# newest_python: print $PYTHON or the name of a Python of 3.11 or later; 3.11 first, because the
# constraints were made with it.
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

# set_up [dev]: install TosLoc in .venv, with the extra [dev] also what its tests and checks need.
# Return at once if that is done.
set_up() {
    local extra="${1:-}" python wanted
    wanted="$(cat pyproject.toml constraints.txt action/requirements.txt <(pwd) | cksum)"
    if .venv/bin/python -c '' 2>/dev/null &&
        [[ "$(cat .venv/.ready-dev 2>/dev/null)" == "$wanted" ||
            (-z "$extra" && "$(cat .venv/.ready 2>/dev/null)" == "$wanted") ]]; then
        return
    fi
    if [[ -z "$extra" ]]; then
        echo "Setting up .venv: 330 MB, about a minute the first time" >&2
    else
        echo "Setting up .venv for the tests: 1.8 GB, several minutes the first time" >&2
    fi
    if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
        python="$(newest_python)"
        "$python" -m venv --clear .venv
    fi
    # pip checks hashes of all packages of a command or of none, and an editable folder has none. So
    # the dependencies come first; the tools of the tests are checked by their versions only.
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        --require-hashes --requirement action/requirements.txt >&2
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        --constraint constraints.txt --editable ".${extra:+[$extra]}" >&2
    echo "$wanted" >".venv/.ready${extra:+-$extra}"
}
