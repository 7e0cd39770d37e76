"""Lines that many earlier reports share attract no files."""

from datetime import UTC, datetime

import pytest

from tests import toy
from tests.conftest import GitRepository
from tosloc.core.reports import BugReport
from tosloc.git.repository import Repository
from tosloc.localize.localizer import Localizer
from tosloc.localize.model import Model
from tosloc.reports.text.shared_lines import MIN_REPORTS, NO_SHARED_LINES
from tosloc.train.experiment import ExperimentContext
from tosloc.train.training import known_reports

FORM = "Did you go through the depot checklist?"
DEPOT = "app/DepotChecklist.java"
WHEEL = "app/Wheel.java"
FILES = {
    DEPOT: "/** The checklist of a depot. */ class DepotChecklist { int depot, checklist; }\n",
    WHEEL: "class Wheel { int size; void turn(int count) { size += count; } }\n",
    "app/Door.java": "class Door { boolean open; }\n",
    "app/Lamp.java": "class Lamp { boolean lit; }\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a project whose reports all have a line that the repository has in no template."""
    folder = tmp_path_factory.mktemp("depot")
    project = toy.ToyProject(folder, GitRepository.new(folder / "repo", bare=True))
    project.git.commit(FILES, "Begin", when=toy.START)
    for number in range(MIN_REPORTS):
        fixed_at = toy.START + (number + 1) * toy.DAY
        changed = {"app/Door.java": f"class Door {{ boolean open; int n{number}; }}\n"}
        fix = project.git.commit(changed, f"Fix {number}", when=fixed_at)
        text = f"{FORM}\nIt does not close {number} times"
        record = toy.labelled_record(
            str(number), "It stays open", text, fixed_at - 99, fix, ["app/Door.java"]
        )
        project.records.append(record)
    return project


@pytest.fixture(scope="module")
def reports(project):
    """Return the labelled reports as a checkpoint has them."""
    with (
        Repository(project.git.path) as repo,
        ExperimentContext(toy.small_config(), repo, project.write_reports()) as experiment,
    ):
        return known_reports(experiment)


@pytest.fixture
def order(project):
    """Return a function from known reports to the ranking of a report with the shared line."""

    def order(reports, day=30):
        opened = datetime.fromtimestamp(toy.START + day * toy.DAY, UTC)
        report = BugReport("new", "It squeaks", f"{FORM}\nOne turn of it is loud", opened)
        localizer = Localizer(Model(known_reports=reports, configuration=toy.small_config()))
        with Repository(project.git.path) as repo:
            return toy.rank_at_revision(localizer, report, repo).ranking.paths

    return order


def test_a_line_that_reports_share_attracts_no_file(order, reports):
    assert order(reports)[0] == WHEEL


def test_the_line_attracts_a_file_if_nobody_else_wrote_it(order, reports):
    """The test above can fail."""
    assert order(reports._replace(shared_lines=NO_SHARED_LINES))[0] == DEPOT


def test_a_line_that_reports_share_only_later_attracts_a_file(order, reports):
    assert order(reports, day=MIN_REPORTS - 1)[0] == DEPOT
