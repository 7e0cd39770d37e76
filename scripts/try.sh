#!/usr/bin/env bash
# Set up .venv, unpack the example repository (Flask) and localize a bug report in it.
# Nothing but Python packages is downloaded. Options are passed on to `tosloc localize`.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
set_up
bash scripts/example/unpack.sh .venv/flask.git
exec .venv/bin/python -m tosloc localize scripts/example/flask-4485.md \
    --repo .venv/flask.git --top 3 "$@"
