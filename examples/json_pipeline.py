"""Read answers as JSON lines, and print the files that several bug reports point to.

tosloc localize examples/reports.jsonl --repo .venv/flask.git --jsonl |
    python examples/json_pipeline.py
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict

reports_by_path = defaultdict(list)
total_confidence: dict[str, float] = defaultdict(float)
for line in sys.stdin:
    answer = json.loads(line)
    if "error" in answer:
        print(f"{answer['report']['id']}: {answer['error']}", file=sys.stderr)
        continue
    for hit in answer["hits"]:
        if hit["confidence"] >= 0.1:
            reports_by_path[hit["path"]].append(answer["report"]["id"])
            total_confidence[hit["path"]] += hit["confidence"]

for path in sorted(total_confidence, key=total_confidence.__getitem__, reverse=True):
    print(f"{total_confidence[path]:.2f}  {path}: {', '.join(reports_by_path[path])}")
