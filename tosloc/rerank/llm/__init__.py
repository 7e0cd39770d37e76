"""A listwise reranker: a language model orders the first files, if the user requests it."""
