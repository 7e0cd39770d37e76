"""Extension of griffe that shows the doctests of docstrings as code in the API reference."""

import re

import griffe

DOCTEST = re.compile(r"^>>> .*\n(?:.+\n)*", re.MULTILINE)


def fence_doctests(docstring: str) -> str:
    r"""Return a docstring with each of its doctests in a fence of Markdown.

    >>> fence_doctests("Add.\n\n>>> 1 + 1\n2\n")
    'Add.\n\n```pycon\n>>> 1 + 1\n2\n```\n'
    """
    return DOCTEST.sub(lambda doctest: f"```pycon\n{doctest[0]}```\n", docstring)


class FenceDoctests(griffe.Extension):
    """Put fences around the doctests of every object that griffe reads."""

    def on_object(self, *, obj: griffe.Object, **options: object) -> None:
        """Change the docstring of an object in place."""
        if obj.docstring is not None:
            obj.docstring.value = fence_doctests(f"{obj.docstring.value}\n").rstrip()
