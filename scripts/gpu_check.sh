#!/usr/bin/env bash
# Check training and reranking on this machine's GPU, at the paper's size and from random weights:
# precisions, memory, steps a second, a training that is killed and goes on, two equal rerankings.
# It takes some eight minutes on an A100 or H100. --tiny checks the same on a CPU in a minute.
# $PYTHON is a Python with tosloc[encoder]; default: the one in .venv.
set -euo pipefail
# Progress bars would hide the results.
export HF_HUB_DISABLE_PROGRESS_BARS=1
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec "${PYTHON:-.venv/bin/python}" -m scripts.gpu_check "$@"
