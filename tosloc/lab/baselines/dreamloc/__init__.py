"""DreamLoc: a deep model that matches report words with snippets of code, beside five wide features.

Qi, Sun, Zhang et al.: DreamLoc, a deep relevance matching-based framework for bug localization, IEEE Transactions on
Reliability 2021 (docs/method.md, section B.9).

    deep(B, f) = sum over report words i of softmax(idf)_i (w . top_k over snippets j of m(r_i, s_j) + b)
    m(r, s)    = tanh network of r/|r| * u/|u| (by component), u = sum over code words c of s of softmax(r . c) c
    wide(B, f) = linear(sim, cc, cf, ff, fr): text, complexity, similar reports, number of fixes, time since the last
    score      = tanh network of (wide, deep); learned with a margin between fixed files and sampled others

Word vectors are skip-gram vectors that are not learned further; a compound's is the mean of its parts'.

Only training reports, training versions and fixes before the opening are known: word vectors, IDF and scales are of
training, ff, fr and cf are computed for every file at the opening. Words that training never saw have the IDF of a word
without texts. There is no ``upstream`` profile: the public code's wide features tell the label (docs/method.md, section
B.9.7).

The distinct words of a report are scored once, whatever their number: the weights count how often each one stands. What
a word gives a file is kept for the next report.

Shapes in this package: B blobs, F files of a version, N paths, R labelled reports, n distinct words of a report, s
snippets, L distinct words of a snippet, d width of a word vector, P pairs of a report and a file, V words of code.
"""

from tosloc.lab.baselines.dreamloc.ranker import DreamLoc

__all__ = ["DreamLoc"]
