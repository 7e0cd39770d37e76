"""Write the plugin for Claude Code and the registry's entry, which are made from one text.

``python scripts/agent_files.py`` writes ``examples/agent-plugin``. The text is
``tosloc/mcp/guidance.md``; ``docs/guide.md`` quotes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tosloc.mcp.guidance import plugin_files

FOLDER: Final = Path(__file__).parents[1] / "examples/agent-plugin"


def main() -> None:
    """Write the files."""
    for name, text in plugin_files().items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
