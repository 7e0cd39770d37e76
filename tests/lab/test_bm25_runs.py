"""BM25 over whole files: the run that stands beside ours, with the library's own scores."""

import json

import bm25s
import pytest
from Stemmer import Stemmer

from tosloc.cli import main
from tosloc.core.records import BugReport
from tosloc.evaluate.run_paths import read_scored_run
from tosloc.git.repository import Repository
from tosloc.lab.bm25_runs import WholeFiles

FILES = {
    "app/http_server.py": "class HTTPServer:\n    def open_socket(self): pass\n",
    "app/parser.py": "# parses the headers\ndef parseHeaders(text): return text\n",
    "app/empty.py": "",
    "doc/notes.txt": "open socket server parser headers\n",
}


def test_reports_with_a_fix_and_with_a_version_are_ranked(repository, tmp_path, capsys):
    first = repository.commit(FILES)
    fix = repository.commit({"app/parser.py": FILES["app/parser.py"] + "# mended\n"})
    reports, out, settings = tmp_path / "reports.jsonl", tmp_path / "bm25", tmp_path / "other.toml"
    parser, server = ["app/parser.py"], ["app/http_server.py"]
    records = [
        {
            "id": "1",
            "summary": "Headers are not parsed",
            "description": "",
            "fix_commit": fix,
            "fixed": parser,
        },
        {
            "id": "2",
            "summary": "socketOpen",
            "description": "HTTP hangs",
            "version": first,
            "fixed": server,
        },
        {"id": "3", "summary": "zzz", "description": "", "version": fix, "fixed": parser},
    ]
    reports.write_text(
        "".join(json.dumps(one | {"opened": "2001-09-09T02:00:00Z"}) + "\n" for one in records)
    )
    command = [
        "lab",
        "bm25",
        "--repo",
        str(repository.path),
        "--reports",
        str(reports),
        "--out",
        str(out),
    ]
    assert main(command) == 0
    scored = read_scored_run(out, "all")
    assert scored.run.header["search space"] == "all source files of the before-fix version"
    evaluation = scored.evaluation()
    assert [one.ranks for one in evaluation.per_report] == [
        (1,),
        (1,),
        (3,),
    ]  # no word of 3 is known: by path
    assert scored.run.ranking("2").paths == ("app/http_server.py", "app/empty.py", "app/parser.py")
    assert evaluation.length == 1.0
    settings.write_text('[data]\nsuffixes = [".py", ".txt"]\n', encoding="utf-8")
    assert main([*command, "--config", str(settings)]) == 0
    assert read_scored_run(out, "all").evaluation().per_report[0].searched == 4
    assert main([*command[:-1], str(tmp_path / "new"), "--split", "validation"]) == 2
    assert "none of its 3 reports falls to validation; rank them all" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("command", "folder"), [("bm25", "thesis"), ("baselines", "thesis/blia")])
def test_a_folder_with_other_things_is_refused(repository, tmp_path, capsys, command, folder):
    repository.commit(FILES)
    fix = repository.commit({"app/parser.py": "mended = True\n"})
    record = {
        "id": "1",
        "summary": "s",
        "description": "",
        "fix_commit": fix,
        "fixed": ["app/parser.py"],
    }
    (tmp_path / "reports.jsonl").write_text(
        json.dumps(record | {"opened": "2001-09-09T02:00:00Z"}) + "\n"
    )
    (tmp_path / folder / "all").mkdir(parents=True)
    (tmp_path / folder / "all/run.jsonl.gz").write_text("mine")
    given = [
        "--repo",
        str(repository.path),
        "--reports",
        str(tmp_path / "reports.jsonl"),
        "--split",
        "all",
    ]
    assert main(["lab", command, *given, "--out", str(tmp_path / "thesis")]) == 2
    assert f"{tmp_path / folder} holds other things, such as 'all'" in capsys.readouterr().err
    assert (tmp_path / folder / "all/run.jsonl.gz").read_text() == "mine"


def test_the_scores_are_the_librarys(repository):
    repository.commit(FILES)
    texts = [
        " ",
        "class HTTP Server:\n def open socket(self): pass",
        "parses the headers def parse Headers(text)",
    ]
    texts[2] += " return text"
    stemmer = Stemmer("english")
    tokens = bm25s.tokenize(texts, stemmer=stemmer, show_progress=False, return_ids=False)
    tokens[0] = []  # the library has the empty word there
    retriever = bm25s.BM25()
    retriever.index(tokens, show_progress=False)
    [query] = bm25s.tokenize(
        "socket Open of the server open HTTP headers", stemmer=stemmer, return_ids=False
    )
    with Repository(repository.path) as repo:
        snapshot = repo.snapshot("HEAD", {".py"})
        scores = WholeFiles(repo).index(snapshot)(
            BugReport("2", "socketOpen of the server", "open HTTP_headers", None)
        )
    assert snapshot.paths == ("app/empty.py", "app/http_server.py", "app/parser.py")
    assert scores.tolist() == pytest.approx(retriever.get_scores(query).tolist())
    assert min(scores[1:]) > 0
