"""Write the pictures docs/figures/comment.png and page.png again, with Chromium.

Run ``.venv/bin/python scripts/example/pictures.py`` after a change that alters the action's comment
or the page. Both show the answer to the example's report. The comment is the action's own Markdown,
drawn in the style of GitHub.
"""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from markdown_it import MarkdownIt
from PIL import Image, ImageChops

from tosloc.localize.localizer import Localizer
from tosloc.localize.question import Question
from tosloc.reports.issues import read_report
from tosloc.web.render import AnswerCard, FormState, render_answer, render_page, report_name

ROOT: Final = Path(__file__).parents[2]
FIGURES: Final = ROOT / "docs/figures"
REPORT: Final = ROOT / "scripts/example/flask-4485.md"
WIDTH: Final = 820
"""Width of a picture, in pixels."""
MAX_HEIGHT: Final = 1000
"""Height of a picture at most, in pixels."""
COLOURS: Final = 48
"""Colours of a picture, few enough that it stays small."""
_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
_STYLE: Final = """
body { margin: 12px; font: 14px/1.5 system-ui, sans-serif; color: #1f2328; background: #ffffff; }
div { border: 1px solid #d1d9e0; border-radius: 6px; padding: 0 16px; }
header { margin: 0 -16px; padding: 8px 16px; background: #f6f8fa; color: #59636e; }
code { font: 12px ui-monospace, monospace; background: #eff1f3; }
code { border-radius: 6px; padding: 3px 5px; }
a { color: #0969da; text-decoration: none; } a code { color: inherit; }
li { margin: 3px 0; } p { margin: 12px 0; }
"""


def main() -> None:
    """Write both pictures."""
    with TemporaryDirectory() as folder:
        repository = Path(folder, "flask.git")
        unpack = ROOT / "scripts/example/unpack.sh"
        subprocess.run(["bash", str(unpack), str(repository)], check=True)
        with REPORT.open(encoding="utf-8") as file:
            report = replace(read_report(file), id="4485")
        with Localizer.open(repository) as localizer:
            answer = localizer.answer(Question(report))
            card = AnswerCard(1, report_name(report), render_answer(answer, localizer))
        text = REPORT.read_text(encoding="utf-8")
        page = render_page([card], "pallets/flask", FormState(text), number=1)
        # The picture shows what a browser shows with scripts.
        page = page.replace('<html lang="en">', '<html lang="en" class="scripts copies">')
        draw(page, FIGURES / "page.png", Path(folder))
        draw(draw_comment(json.dumps(answer.as_dict())), FIGURES / "comment.png", Path(folder))


def draw_comment(answer: str) -> str:
    """Return a page with the comment of the action for an answer."""
    action = runpy.run_path(str(ROOT / "action/run.py"))
    markdown = action["answer_markdown"](json.loads(answer), "https://github.com/pallets/flask")
    html = MarkdownIt("gfm-like", {"linkify": False}).render(markdown)
    header = "<header><b>github-actions</b> commented</header>"
    return f"<!DOCTYPE html><style>{_STYLE}</style><div>{header}{html}</div>"


def draw(page: str, picture: Path, folder: Path) -> None:
    """Draw a page and save it as a small picture, without the empty part at its bottom."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        sys.exit("this script needs Chromium on the PATH")
    source = folder / "page.html"
    source.write_text(page, encoding="utf-8")
    screenshot = folder / "page.png"
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu"]
    options += [f"--window-size={WIDTH},{MAX_HEIGHT}", f"--screenshot={screenshot}"]
    subprocess.run([browser, *options, source.as_uri()], check=True, capture_output=True)
    with Image.open(screenshot) as image:
        drawn = image.convert("RGB")
    background = Image.new("RGB", drawn.size, drawn.getpixel((0, 0)))
    _, _, _, bottom = ImageChops.difference(drawn, background).getbbox() or (0, 0, 0, MAX_HEIGHT)
    cut = drawn.crop((0, 0, WIDTH, min(bottom + 12, MAX_HEIGHT)))
    cut.quantize(COLOURS).save(picture, optimize=True)


if __name__ == "__main__":
    main()
