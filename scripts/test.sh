#!/usr/bin/env bash
# Sets up .venv and runs the tests; arguments go to pytest.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
set_up dev
exec .venv/bin/python -m pytest "$@"
