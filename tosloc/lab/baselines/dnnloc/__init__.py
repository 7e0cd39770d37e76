"""DNNLOC: six features of a report and a file, one of them learned by a network, combined by another network.

Lam, Nguyen, Nguyen, Nguyen: Bug localization with combination of deep learning and information retrieval, ICPC 2017
(docs/method.md, section B.8). No code of the authors is public: layer sizes, activations, epochs and vocabularies are
ours, and there is no ``upstream`` profile. ``relevancy_share`` of the training reports, the older, teaches phi1, the
rest the combiner, which would otherwise trust a phi1 that has seen its answers. ``wrong_files`` and ``calibration`` are
chosen for each project by MAP on validation: where text is weak the published hardest files teach the combiner to
distrust it, and the pairs' phi2 is not distributed like a whole version's. The projections are not learned further.

Shapes in this package: B blobs, F files of a version, N paths, R labelled reports, V terms, P pairs of a report and a
file, H width of a projection.
"""

from tosloc.lab.baselines.dnnloc.ranker import Dnnloc

__all__ = ["Dnnloc"]
