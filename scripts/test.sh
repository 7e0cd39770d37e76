#!/usr/bin/env bash
# Set up .venv (1.8 GB; several minutes the first time) and run the quick tests in two processes.
# Arguments go to pytest: -m "" runs the slow ones too.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
set_up dev
# two processes with a thread each: more threads than cores only wait for each other
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" OPENBLAS_NUM_THREADS="${OPENBLAS_NUM_THREADS:-1}"
unset PYTHONDONTWRITEBYTECODE # set in some containers: each process would compile everything again
exec .venv/bin/python -m pytest -n 2 --dist loadfile "$@"
