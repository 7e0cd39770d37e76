"""DreamLoc: a deep model that matches report words with snippets of code, beside five wide features.

Qi, Sun, Zhang et al.: DreamLoc, a deep relevance matching-based framework for bug localization, IEEE Transactions on
Reliability 2021 (docs/method.md, section B.9). There is no ``upstream`` profile: the public code's wide features tell
the label (section B.9.7). The distinct words of a report are scored once: the weights count how often each stands.

Shapes in this package: B blobs, F files of a version, N paths, R labelled reports, n distinct words of a report, s
snippets, L distinct words of a snippet, d width of a word vector, P pairs of a report and a file, V words of code.
"""

from tosloc.lab.baselines.dreamloc.ranker import DreamLoc

__all__ = ["DreamLoc"]
