"""The same question gets the same answer, whatever was computed or asked before, and by whom."""

from contextlib import closing

import pytest

from conftest import make_shop
from tests.answers import answer_all
from tests.conftest import GitRepository
from tosloc import Localizer
from tosloc.core.processes import Worker
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.localize.question import Question
from tosloc.reports.formats import read_reports
from tosloc.train import experiment

FORM = "Please attach printer.log of the printer driver.\nDid the spooler of the printer stop?\n"
INVOICE = 'def total(lines):\n    """The total of an invoice, with its discount."""\n'
SPOOLER = 'def start(log="printer.log"):\n    """The spooler of the printer driver."""\n'
FORM_FILES = {
    "src/invoice.py": INVOICE,
    "src/spooler.py": SPOOLER,
    "src/same.py": SPOOLER,
    "templates/invoice.html": "<p>The total of the invoice</p>\n",
    "logo.png": b"\x89PNG\r\n\0",
    "tests/test_spooler.py": "def test_start():\n    pass\n",
    ".github/ISSUE_TEMPLATE.md": FORM,
    ".github/ISSUE_TEMPLATE/bug.md": "Which printer?\n",
    "CODEOWNERS": "* @ada\n",
}
FILLED_FORM = f"Total of an invoice is wrong\n\nThe total ignores the discount.\n\n{FORM}"
SHOP_REPORTS = [
    "The cart forgets an item\n\nCart.add drops what is equal to another one.",
    "Since #7 the total is wrong\n\nIt worked before. See shop/bill.py",
]


def make_forms(path):
    """Create a project with issue forms, a release, uncommitted changes; return its path."""
    repository = GitRepository.new(path)
    repository.git("remote", "add", "origin", "https://github.com/depot/printer")
    repository.commit(FORM_FILES, "Start")
    repository.git("tag", "v1.0")
    repository.commit({"src/spooler.py": SPOOLER + "    return log\n"}, "Fix #3: spooler stops")
    (path / "src/new.py").write_text("def discount():\n    pass\n")
    return path


@pytest.fixture(params=["shop", "form", "toy"])
def project_and_texts(request, tmp_path, project):
    """Return a made-up repository, and questions about it."""
    if request.param == "shop":
        return make_shop(tmp_path / "shop"), SHOP_REPORTS
    if request.param == "toy":
        records = project.records[-4:]
        texts = [f"{record['summary']}\n\n{record['description']}" for record in records]
        return project.git.path, texts
    return make_forms(tmp_path / "forms"), [FILLED_FORM, "It worked in v1.0: the spooler"]


@pytest.fixture(scope="module")
def worker():
    """Yield another process."""
    with closing(Worker()) as worker:
        yield worker


def test_answers_do_not_depend_on_cache_process_or_interface(project_and_texts, tmp_path, worker):
    repository, texts = project_and_texts
    cold = answer_all(repository, tmp_path / "cache", texts)
    warm = answer_all(repository, tmp_path / "cache", texts)
    other_order = answer_all(repository, tmp_path / "cache", texts[::-1])
    elsewhere = worker.call(answer_all, repository, tmp_path / "cache", texts)
    cold_elsewhere = worker.call(answer_all, repository, tmp_path / "other", texts)
    assert warm == cold
    assert other_order[::-1] == cold
    assert elsewhere == cold
    assert cold_elsewhere == cold


def test_lines_of_an_issue_form_never_count_as_words_of_the_report(tmp_path):
    repository = make_forms(tmp_path / "forms")
    for _ in range(2):
        [answers] = answer_all(repository, tmp_path / "cache", [FILLED_FORM])
        assert answers["localize"]["hits"][0]["path"] == "src/invoice.py"


def test_rank_orders_files_as_localize_does(project, tmp_path):
    """The reports name the version to search, so that no fix of theirs is known."""
    records = []
    for record in project.records[-4:]:
        version = project.git.git("rev-parse", f"{record['fix_commit']}~1")
        records.append(record | {"version": version, "fix_commit": None})
    reports = project.write_reports("versions.jsonl", records)
    experiment.rank_reports(Localizer(), project.git.path, reports, tmp_path / "out", "all")
    run = ScoredRun.read(tmp_path / "out", "all").run
    with Localizer.open(project.git.path, ready=False) as localizer:
        for entry in read_reports(reports):
            version = localizer.prepare(entry.commit)
            ranking = localizer.rank(Question(entry.report), version).ranking
            assert run.ranking(entry.report.id).paths == ranking.paths
