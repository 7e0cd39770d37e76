"""Reports asked at home and abroad, and what is measured of the answers."""

import numpy as np
import pytest

from tests import toy
from tosloc.core.config import Config
from tosloc.core.errors import ToslocError
from tosloc.lab import presence as module
from tosloc.lab.presence import (
    Answer,
    ask_reports,
    choose_hosts,
    learn_presence,
    measure_presence,
)
from tosloc.lab.projects import Project
from tosloc.localize.checkpoint import shipped
from tosloc.localize.model import Model
from tosloc.rank.model import StageOne
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


def test_model_lowers_no_confidence_where_a_report_refers_to_the_history():
    answers = [answer._replace(refers=True) for answer in make_answers()]
    result = measure_presence(answers)
    assert result.after == result.before


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


def test_project_is_ranked_by_the_weights_that_never_saw_it(projects, tmp_path, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    left_out = tmp_path / "left-out"
    stage_one = StageOne(("recency",), np.array([3.0]))
    Model(stage_one, 2.5).save(left_out / "one/checkpoint")
    project = projects[0]
    answers = ask_reports(project, [], ONE_PROCESS, tmp_path / "one.json", [left_out])
    assert {answer.temperature for answer in answers} == {2.5}


def test_other_projects_are_ranked_by_the_shipped_weights(projects, tmp_path, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    answers = ask_reports(projects[0], [], ONE_PROCESS, tmp_path / "one.json", [tmp_path])
    assert {answer.temperature for answer in answers} == {shipped()[1]}
