"""DNNLOC: six features of a report and a file, one of them learned by a network, combined by another network.

Lam, Nguyen, Nguyen, Nguyen: Bug localization with combination of deep learning and information retrieval, ICPC 2017
(docs/method.md, section B.8).

    phi1  relevancy: a network over the projections of the report's and the file's term weights
    phi2  rVSM(B, f) = cos(B, f) / (1 + exp(-mm(length)))
    phi3  the same between B and all reports together that were fixed in f before B was opened
    phi4  cosine between the class names that B mentions and those that f declares
    phi5  1 / (months from the opening of the report last fixed in f to B's + 1), 0 without one
    phi6  ln(1 + number of earlier fixes of f)
    score = network(6 -> 300 -> 1) of the features, each scaled to [0, 1] by the training pairs

No code of the authors is public, and layer sizes, activations, epochs and vocabularies of theirs are not known: those
here are ours. The public re-implementation lacks phi1 and samples both candidates and histories (docs/method.md,
section B.8.7), so there is no ``upstream`` profile.

Learned from: the newest ``train_reports`` of the training reports, each with its fixed files and the ``negatives``
other files of its version that are most similar by phi2 (or, to see what that choice does, with others drawn at random:
``wrong_files``). The older ``relevancy_share`` of them teaches phi1, the newer rest the combiner, which would otherwise
trust a phi1 that has seen its answers. Both stop by MAP over all files of ``validation_reports`` reports. Report terms
and their weights come from all training reports, code terms from the first and the last training version. The
projections are not learned further with phi1.

Shapes in this package: B blobs, F files of a version, N paths, R labelled reports, V terms, P pairs of a report and a
file, H width of a projection.
"""

from tosloc.lab.baselines.dnnloc.ranker import Dnnloc

__all__ = ["Dnnloc"]
