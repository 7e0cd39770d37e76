"""The scripts in ``examples``, each of which is run on the bundled repository."""

import hashlib
import json
import re
import runpy
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from tosloc.cli import main
from tosloc.evaluate.run_paths import ScoredRun

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
REPORTS = EXAMPLES / "reports.jsonl"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """Return the path of the example repository."""
    folder = tmp_path_factory.mktemp("examples") / "flask.git"
    subprocess.run(["bash", ROOT / "scripts/example/unpack.sh", folder], check=True)
    return folder


@pytest.fixture
def run(repository, monkeypatch, capsys):
    """Return a function that runs an example and returns the printed lines.

    It runs on the example repository, unless other arguments are given.
    """

    def run_example(name, *arguments):
        path = str(EXAMPLES / f"{name}.py")
        monkeypatch.setattr(sys, "argv", [path, *map(str, arguments or [repository])])
        runpy.run_path(path, run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return run_example


def test_python_of_the_readme_lists_the_fixed_file(repository, monkeypatch, capsys):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    monkeypatch.chdir(repository)
    for block in re.findall(r"^```python\n(.*?)^```$", readme, re.M | re.S):
        exec(block, {})
    assert capsys.readouterr().out.startswith("1 src/flask/sessions.py ['")


def test_python_api_lists_the_fixed_file_and_explains_another(run):
    lines = run("python_api")
    assert lines[0].startswith("1. src/flask/sessions.py (")
    assert "src/flask/testing.py has rank 3 because of:" in lines


def test_json_pipeline_lists_the_files_of_several_reports(run, repository, monkeypatch, capsys):
    assert main(["localize", str(REPORTS), "--repo", str(repository), "--jsonl"]) == 0
    monkeypatch.setattr(sys, "stdin", StringIO(capsys.readouterr().out))
    assert run("json_pipeline")[0].endswith("src/flask/cli.py: cert-before-key, nested-group")


def test_added_feature_changes_some_leads(run):
    *lines, sentence = run("add_feature")[1:]
    leads = [line.split("  ")[0].split(" -> ") for line in lines]
    assert len(lines) == 6
    assert 0 < sum(before != after for before, after in leads) < 6
    assert sentence == "the lead rose for 2 reports and fell for 1"


def test_added_feature_is_tried_on_reports_with_fixes_in_another_language(run, project):
    reports = project.write_reports()
    *lines, _ = run("add_feature", project.git.path, reports)[1:]
    assert len(lines) == len(project.records)
    assert re.match(r"[+-]\d\.\d\d -> [+-]\d\.\d\d  ", lines[0])


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        ("counts[1:]", "report blueprint-subdomain: (78,) values for 79 files"),
        ("[*counts[1:], np.nan]", "is not a finite number"),
    ],
)
def test_added_feature_of_a_wrong_shape_is_one_sentence(repository, tmp_path, result, sentence):
    source = (EXAMPLES / "add_feature.py").read_text(encoding="utf-8")
    script = tmp_path / "add_feature.py"
    script.write_text(source.replace("np.array(counts,", f"np.array({result},"), encoding="utf-8")
    arguments = [sys.executable, script, repository, REPORTS]
    result = subprocess.run(arguments, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert sentence in result.stderr


def test_written_reranker_changes_the_order(run):
    first, second = run("write_reranker")
    assert first.startswith("no reranker: src/flask/app.py, src/flask/scaffold.py, ")
    assert second.startswith("identifiers: src/flask/app.py, src/flask/scaffold.py, ")
    assert first.partition(": ")[2] != second.partition(": ")[2]


@pytest.mark.slow
def test_written_reranker_is_evaluated_and_compared(repository, tmp_path, capsys):
    options = ["--reports", str(REPORTS), "--repo", str(repository), "--split", "all"]
    name = f"{EXAMPLES / 'write_reranker.py'}:IdentifierReranker"
    assert main(["rank", *options, "--out", str(tmp_path / "shipped")]) == 0
    assert main(["rank", *options, "--out", str(tmp_path / "own"), "--reranker", name]) == 0
    paths = [str(tmp_path / "shipped"), str(tmp_path / "own")]
    assert main(["compare", *paths, "--split", "all"]) == 0
    printed = capsys.readouterr().out
    assert "own (IdentifierReranker) compared with shipped" in printed
    assert "p, paired bootstrap" in printed


def test_run_by_an_own_reranker_names_its_class_and_file(repository, tmp_path, capsys):
    source = EXAMPLES / "write_reranker.py"
    out = tmp_path / "out"
    options = ["--reports", str(REPORTS), "--repo", str(repository), "--split", "all"]
    name = f"{source}:IdentifierReranker"
    assert main(["rank", *options, "--out", str(out), "--reranker", name]) == 0
    sha256 = hashlib.sha256(source.read_bytes()).hexdigest()
    record = {"class": "IdentifierReranker", "name": "write_reranker.py", "sha256": sha256}
    provenance = json.loads((out / "provenance.json").read_text(encoding="utf-8"))
    assert provenance["reranker"] == record
    header = ScoredRun.read(out, "all").run.header
    assert header["reranker"] == record
    assert "temperature" not in header
    assert main(["evaluate", str(out), "--split", "all"]) == 0
    assert "out (IdentifierReranker) [95 %]" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["nothing:Here", "nowhere.py:Here", "pathlib:Path", "no.py"])
def test_wrong_reranker_is_one_sentence(repository, tmp_path, capsys, name):
    options = ["--reports", str(REPORTS), "--repo", str(repository), "--out", str(tmp_path / "out")]
    assert main(["rank", *options, "--reranker", name]) == 2
    assert capsys.readouterr().err.startswith(f"tosloc: --reranker: {name}")


def test_reranker_with_a_fault_is_one_sentence_and_leaves_no_run(repository, tmp_path, capsys):
    source = (EXAMPLES / "write_reranker.py").read_text(encoding="utf-8")
    written = tmp_path / "written.py"
    written.write_text(source.replace("self.weight * counts)", "counts[:3])"), encoding="utf-8")
    out = tmp_path / "out"
    options = ["--reports", str(REPORTS), "--repo", str(repository), "--split", "all"]
    name = f"{written}:IdentifierReranker"
    assert main(["rank", *options, "--out", str(out), "--reranker", name]) == 2
    error = capsys.readouterr().err
    assert "the reranker IdentifierReranker raised ValueError: " in error
    assert error.count("\n") == 1
    assert [*(out / "all").iterdir()] == []


def test_reranker_that_would_never_be_called_is_refused(repository, tmp_path, capsys):
    source = (EXAMPLES / "write_reranker.py").read_text(encoding="utf-8")
    written = tmp_path / "written.py"
    written.write_text(source.replace("    weight = 1.0\n", ""), encoding="utf-8")
    options = ["--reports", str(REPORTS), "--repo", str(repository), "--out", str(tmp_path / "out")]
    assert main(["rank", *options, "--reranker", f"{written}:IdentifierReranker"]) == 2
    assert "has the weight 0, so it changes no ranking" in capsys.readouterr().err


@pytest.mark.slow
def test_other_tool_is_evaluated_and_compared(repository):
    command = [sys.executable, EXAMPLES / "evaluate_other_tool.py", repository]
    result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    assert re.search(r"^ mrr +\.625 ", result.stdout, re.M)
    assert re.search(r"^ mean of git-grep +\.562 +\.625", result.stdout, re.M)
    assert re.search(r"^ mean of tosloc +[.1]", result.stdout, re.M)


@pytest.mark.slow
def test_other_tool_may_find_nothing_for_reports_with_fixes(project):
    records = [{**record} for record in project.records]
    records[0]["summary"] = "zzzzz"
    reports = project.write_reports("grep.jsonl", records)
    command = [sys.executable, EXAMPLES / "evaluate_other_tool.py", project.git.path, reports]
    result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    assert re.search(rf"^ reports +{len(records)} ", result.stdout, re.M)
    assert "not ranked" in result.stdout


def test_reports_of_examples_name_files_of_the_bundled_version(repository):
    reports = [json.loads(line) for line in REPORTS.read_text(encoding="utf-8").splitlines()]
    command = ["git", f"--git-dir={repository}", "ls-tree", "-r", "--name-only", "HEAD"]
    tree = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    fixed = {path for report in reports for path in report["fixed"]}
    assert fixed <= set(tree)
    assert len(reports) == 6


def test_readme_names_every_example():
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    names = {path.name for path in EXAMPLES.iterdir() if path.is_file()} - {"README.md"}
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []
