"""Progress that notes which epochs a training begins, and interrupts one."""

from __future__ import annotations


class Epochs:
    """Called as progress; raises KeyboardInterrupt within epoch ``interrupted`` (from 0), after its first step."""

    def __init__(self, interrupted: int | None = None) -> None:
        self.interrupted = interrupted
        self.begun: list[int] = []

    def __call__(self, what: str, done: int, total: int) -> None:
        kind, _, number = what.partition(" ")
        if kind != "epoch" or not number.isdigit():
            return
        epoch = int(number) - 1
        if epoch not in self.begun:
            self.begun.append(epoch)
        if epoch == self.interrupted:
            raise KeyboardInterrupt
