"""The issue forms of a version, read from git."""

import pytest

from tosloc.git.repository import Repository
from tosloc.reports.text import templates
from tosloc.reports.text.templates import IssueTemplates


@pytest.fixture
def forms(make_repository):
    """Return a repository with forms in several places; the second commit changes one."""
    made = make_repository("forms")
    made.commit(
        {
            ".github/ISSUE_TEMPLATE/bug.md": "Which depot?\n",
            ".github/ISSUE_TEMPLATE/config.yml": "contact_links: []\n",
            ".gitlab/issue_templates/Bug.md": "Which runner?\n",
            "docs/ISSUE_TEMPLATE.md": "Which page?\n",
            ".github/workflows/ci.md": "Not a form\n",
            "src/a.py": "x = 1\n",
        }
    )
    made.commit({".github/ISSUE_TEMPLATE/bug.md": "Which shop?\n"})
    with Repository(made.path) as repo:
        yield repo


def test_forms_of_every_place_are_read(forms):
    keys = IssueTemplates(forms).of_commit(forms.resolve("HEAD~1"))
    assert {"which depot", "which runner", "which page"} <= keys
    assert "not a form" not in keys


def test_forms_are_those_of_the_version(forms):
    read = IssueTemplates(forms)
    before = read.of_commit(forms.resolve("HEAD~1"))
    after = read.of_commit(forms.resolve("HEAD"))
    assert after - before == {"which shop"}
    assert before - after == {"which depot"}


def test_a_form_is_read_once(forms, monkeypatch):
    read = IssueTemplates(forms)
    asked = []
    texts = forms.texts

    def record(blobs):
        asked.extend(blobs)
        return texts(blobs)

    monkeypatch.setattr(forms, "texts", record)
    for revision in ("HEAD~1", "HEAD", "HEAD"):
        read.of_commit(forms.resolve(revision))
    assert len(asked) == len(set(asked)) == 5


def test_only_the_first_forms_are_read(forms, monkeypatch):
    monkeypatch.setattr(templates, "MAX_TEMPLATES", 1)
    keys = IssueTemplates(forms).of_commit(forms.resolve("HEAD"))
    assert keys == {"which shop"}


def test_missing_version_has_no_forms(forms):
    assert IssueTemplates(forms).of_commit("0" * 40) == frozenset()
