"""Ask TosLoc from Python which files a bug may be in, and why a file was listed.

python examples/python_api.py [REPOSITORY]
"""

from __future__ import annotations

import sys

from tosloc import Localizer

REPOSITORY = sys.argv[1] if len(sys.argv) > 1 else ".venv/flask.git"
REPORT = """Session cookie loses its HttpOnly flag when it is deleted

After `session.clear()` the Set-Cookie header has no HttpOnly attribute.
"""

with Localizer.open(REPOSITORY) as localizer:
    answer = localizer.localize(REPORT, top=3)
    for hit in answer.hits:
        print(f"{hit.rank}. {hit.path} ({hit.confidence:.0%})")
        for function in hit.functions:
            print(f"   {function.name}, lines {function.start} to {function.end}")

    explanation = localizer.explain(REPORT, "src/flask/testing.py")
    hit = explanation.hits[0]
    print(f"{hit.path} has rank {hit.rank} because of:")
    for reason in hit.reasons:
        print(f"   {reason.text}")
