#!/usr/bin/env bash
# Sets up .venv and localizes an example report with the shipped checkpoint: no repository, no download of data.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
set_up
exec .venv/bin/python -m tosloc localize checkpoints/tomcat/example-report.md \
    --checkpoint checkpoints/tomcat --top 10 "$@"
