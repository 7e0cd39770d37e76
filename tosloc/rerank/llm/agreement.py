"""How often the first file of a language model's answer is right, by TosLoc's own rank of it."""

from __future__ import annotations

from typing import Final, NamedTuple


class Agreement(NamedTuple):
    """A range of TosLoc's own ranks of the file that a language model puts first."""

    name: str
    """The ranks in words."""
    last_rank: float
    """The last of these ranks."""
    tasks: int
    """Development tasks in which a model's first file had such a rank."""
    right: int
    """Those of them in which this file had to be changed."""

    def describe(self, rank: int) -> str:
        """Return a note about a model's first file that has this rank in TosLoc's own ranking.

        >>> print(find_agreement(1).describe(1).partition(";")[0])
        TosLoc's own ranking has the same first file
        >>> print(find_agreement(12).describe(12).partition(";")[0])
        TosLoc's own ranking has the model's first file only at rank 12
        """
        if rank == 1:
            comparison = "the same first file"
        else:
            only = "only " if self is AGREEMENTS[-1] else ""
            comparison = f"the model's first file {only}at rank {rank}"
        return (
            f"TosLoc's own ranking has {comparison}; in {self.right} of {self.tasks} development"
            " tasks with a large model, such a file had to be changed"
        )


AGREEMENTS: Final = (
    Agreement("first", 1, 31, 31),
    Agreement("second or third", 3, 16, 14),
    Agreement("further down", float("inf"), 13, 11),
)
"""All ranges, with the answers of one large model to 60 prompts.

``tosloc lab llm-answers`` counts them. docs/results.md, "One call to a language model", says what
the tasks are.
"""


def find_agreement(rank: int) -> Agreement:
    """Return the range of ranks that contains a rank.

    >>> find_agreement(2).name
    'second or third'
    """
    return next(agreement for agreement in AGREEMENTS if rank <= agreement.last_rank)
