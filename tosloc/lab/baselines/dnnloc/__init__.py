"""DNNLOC: six features of a report and a file, one of them learned by a network, combined by another network.

Lam, Nguyen, Nguyen, Nguyen: Bug localization with combination of deep learning and information retrieval, ICPC 2017
(docs/method.md, section B.8).

    phi1  relevancy: a network over the projections of the report's and the file's term weights
    phi2  rVSM(B, f) = cos(B, f) / (1 + exp(-mm(length)))
    phi3  the same between B and all reports together that were fixed in f before B was opened
    phi4  cosine between the class names that B mentions and those that f declares
    phi5  1 / (months from the opening of the report last fixed in f to B's + 1), 0 without one
    phi6  ln(1 + number of earlier fixes of f)
    score = network(6 -> 300 -> 1) of the features, each scaled to [0, 1]

No code of the authors is public, and layer sizes, activations, epochs and vocabularies of theirs are not known: those
here are ours. The public re-implementation lacks phi1 and samples both candidates and histories (docs/method.md,
section B.8.7), so there is no ``upstream`` profile.

Learned from: all training reports (or the newest ``train_reports``), each with its fixed files and ``negatives`` other
files of its version. The older ``relevancy_share`` of them teaches phi1, the newer rest the combiner, which would
otherwise trust a phi1 that has seen its answers. Both stop by MAP over all files of the validation reports' versions.
Report terms and their weights come from all training reports, code terms from the first and the last training version.
The projections are not learned further with phi1.

Two things are chosen for each project by that MAP. ``wrong_files``: the published ones are those most similar by phi2,
``hardest``; where text is weak they teach the combiner to distrust it, hence ``random`` ones beside. ``calibration``:
the pairs' phi2 is not distributed like a whole version's, so that features are scaled by their range either in the
training pairs or in all files of the validation reports' versions, without a look at what was fixed.

Shapes in this package: B blobs, F files of a version, N paths, R labelled reports, V terms, P pairs of a report and a
file, H width of a projection.
"""

from tosloc.lab.baselines.dnnloc.ranker import Dnnloc

__all__ = ["Dnnloc"]
