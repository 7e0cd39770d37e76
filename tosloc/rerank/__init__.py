"""Stage two: rerankers that score the first candidates of stage one again.

It imports core, git, code, paths, reports, retrieval and storage.

Modules for other packages: base, encoder.pretrained, llm.reranker.
"""
