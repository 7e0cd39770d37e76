from tests.index_fixtures import make_context, make_corpus

__all__ = ["make_context", "make_corpus"]
