"""Reports asked at home and abroad, and what is measured of the answers."""

import pytest

from tests import toy
from tosloc.core.config import Config
from tosloc.core.errors import ToslocError
from tosloc.lab import presence as module
from tosloc.lab.presence import Answer, choose_hosts, learn_presence, measure_presence
from tosloc.lab.projects import Project
from tosloc.rank.model.presence import PresenceModel

ONE_PROCESS = Config.of({"run": {"jobs": 1}}, "test")


def make_answers(number=40):
    """Return answers of three projects; those at home know the names of their reports."""
    answers = []
    for place in range(number):
        for project, host in ("aa", "bb", "cc", "ab", "bc", "ca"):
            signals = [0.1 * (place % 3)] * len(PresenceModel.SIGNALS)
            signals[PresenceModel.SIGNALS.index("known_names")] = 1.0 if project == host else 0.1
            answers.append(Answer(project, host, signals, [2.0, 0.0], 1.0, project == host))
    return answers


def test_hosts_have_the_language_and_then_the_size():
    kinds = {
        "a": module._Kind("java", 100),
        "b": module._Kind("java", 1000),
        "c": module._Kind("java", 120),
        "d": module._Kind("go", 100),
    }
    hosts = choose_hosts(kinds)
    assert hosts["a"] == ["c", "b"]
    assert hosts["d"] == ["a"]


def test_model_tells_home_from_abroad_on_projects_left_out():
    result = measure_presence(make_answers())
    assert result.before["auc"] == 0.5
    assert result.after["auc"] == 1.0
    assert result.after["abroad from .5"] == 0.0


def test_answers_at_home_stay_as_sure():
    result = measure_presence(make_answers())
    assert result.after["mean share"] == pytest.approx(result.before["mean share"], abs=0.02)


def test_two_projects_are_refused(tmp_path):
    projects = [Project(name=name, repo=tmp_path, reports=tmp_path) for name in "ab"]
    with pytest.raises(ToslocError, match="at least three are needed"):
        learn_presence(projects, tmp_path, ONE_PROCESS)


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    """Return three projects of two themes each."""
    listed = []
    for name in ("one", "two", "three"):
        project = toy.make_project(tmp_path_factory.mktemp(name), bugs=6, themes=4)
        reports = project.write_reports()
        listed.append(
            Project(name=name, repo=project.git.path, reports=reports, config=toy.small_config())
        )
    return listed


def test_reports_are_asked_at_home_and_abroad(projects, tmp_path, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    result = learn_presence(projects, tmp_path, ONE_PROCESS, every=2)
    assert result.before["home"] == 18
    assert result.before["abroad"] == 9
    assert {path.name for path in tmp_path.glob("*.json")} == {"one.json", "two.json", "three.json"}
    again = learn_presence(projects, tmp_path, ONE_PROCESS, every=2)
    assert again.model == result.model
