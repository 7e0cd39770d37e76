#!/usr/bin/env bash
# Sets up .venv and runs the quick tests in two processes; arguments go to pytest: -m "" runs the slow ones too.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
set_up dev
exec .venv/bin/python -m pytest -n 2 --dist loadfile "$@"
