"""An answer with what its page shows beside it: the report and stretches of the files, of the disk or of git."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tosloc.answer import Answer
from tosloc.git.discovery import WebPages
from tosloc.git.repository import decode
from tosloc.index.query import Query
from tosloc.io import cut
from tosloc.localizer import Localizer
from tosloc.rank.lines import framed_lines, telling_terms
from tosloc.web.excerpts import LONGEST_LINE, LONGEST_REPORT, Piece, Stretch, marked, marked_report, stretches

FILES: Final = 5
"""Files of which lines are shown."""


@dataclass(frozen=True)
class View:
    """An answer, ready for its page."""

    answer: Answer
    title: tuple[Piece, ...]
    description: tuple[Piece, ...]
    left_out: int
    """Letters of the description that are not shown."""
    sources: Mapping[str, tuple[Stretch, ...]] = field(default_factory=dict)
    """Path -> lines of that file, of the first files that have any."""
    pages: WebPages | None = None
    """Where the project is seen on the web."""
    editor: str = ""
    """Address that opens a file in the reader's editor, with ``{path}`` and ``{line}``; else empty."""

    @classmethod
    def of(cls, answer: Answer, localizer: Localizer | None = None, editor: str = "") -> View:
        """An answer with lines of its first files from the localizer's repository; without one there are none.

        With ``editor`` the page tells where the files of a work tree lie: it is for this machine.
        """
        report, summary = answer.report, cut(answer.report.summary, LONGEST_LINE)
        left_out = max(0, len(report.description) - LONGEST_REPORT)
        repository = None if localizer is None else localizer.repository
        if localizer is None or repository is None:
            title = (Piece(summary),) if summary else ()
            return cls(answer, title, (Piece(report.description[:LONGEST_REPORT]),), left_out)
        version = localizer.version(None if answer.searched.uncommitted else answer.commit)
        query, index, snapshot = Query(report), version.index, version.snapshot
        terms = telling_terms(query, index)
        number_of = {path: number for number, path in enumerate(snapshot.paths)}
        known = [(hit, number_of[hit.path]) for hit in answer.hits if hit.path in number_of]  # on disk now
        files = [file for _, file in known]
        framed, shown = framed_lines(query, index, files), known[:FILES]
        texts = dict(repository.texts(dict.fromkeys(snapshot.blobs[file] for _, file in shown)))
        sources = {
            hit.path: stretches(
                decode(data),
                terms,
                hit.functions,
                framed.get(file, ()),
                # those of frames are of the report's version
                [reason.lines for reason in hit.why if reason.lines is not None and reason.kind != "frame"],
                hit.path,
            )
            for hit, file in shown
            if (data := texts[snapshot.blobs[file]]) is not None
        }
        return cls(
            answer,
            marked(summary, terms),
            marked_report(query, terms, index, files),
            left_out,
            sources,
            WebPages.of(repository.remote_url()),
            editor,
        )

    @property
    def name(self) -> str:
        """What the answer is called in lists."""
        report = self.answer.report
        return cut(f"{report.id}: {report.summary}" if report.summary else report.id, LONGEST_LINE)

    @property
    def project(self) -> str:
        """The project's name on the web, else its folder's."""
        return project_of(self.answer.repository or "", self.pages)

    def link(self, path: str, lines: tuple[int, int] | None = None) -> str | None:
        """Page of a file on the web."""
        return None if self.pages is None else self.pages.file(self.answer.commit, path, lines)

    def editor_link(self, path: str, line: int) -> str | None:
        """What opens a line of a file in the editor; None where there is no such file, as in a bare repository."""
        file = Path(self.answer.repository or "", path)
        if not self.editor or not file.is_file():
            return None
        return self.editor.replace("{path}", file.as_uri().removeprefix("file://")).replace("{line}", str(line))

    def commit_link(self) -> str | None:
        """Page of the searched version on the web."""
        return None if self.pages is None else self.pages.commit(self.answer.commit)


def project_of(repository: str, pages: WebPages | None) -> str:
    """A repository's name on the web, else its folder's: where it lies is nobody's business who is sent the page.

    >>> project_of("/home/ada/toy/.git", None), project_of("/srv/toy.git", None), project_of("", None)
    ('toy', 'toy', '')
    >>> project_of("/home/ada/x", WebPages.of("git@github.com:ada/toy.git"))
    'ada/toy'
    """
    if pages is not None:
        return pages.project.split("/", 3)[-1]
    path = Path(repository)
    name = path.parent.name if path.name == ".git" else path.name
    return name.removesuffix(".git")
