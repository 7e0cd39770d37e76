#!/usr/bin/env bash
# Check training and reranking on this machine's GPU, at the paper's size and from random weights:
# precisions, memory, steps a second, a training that is killed and goes on, two equal rerankings.
# It takes some eight minutes on an A100 or H100. --tiny checks the same on a CPU in a minute.
# $PYTHON is a Python with tosloc[encoder]; default: the one in .venv.
set -euo pipefail
# Progress bars would hide the results.
export HF_HUB_DISABLE_PROGRESS_BARS=1
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python="${PYTHON:-.venv/bin/python}"
if ! command -v "$python" >/dev/null; then
    echo "gpu_check.sh: $python is missing; run bash scripts/test.sh, which makes .venv, or set PYTHON to a Python that has tosloc[encoder]" >&2
    exit 2
fi
"$python" - <<'PYTHON' || exit 2
import sys

from tosloc.core.errors import MissingExtra, require

try:
    require("the GPU check", "encoder", "torch", "transformers", "accelerate")
except MissingExtra as error:
    sys.exit(f"gpu_check.sh: {error}")
PYTHON
exec "$python" -m scripts.gpu_check "$@"
