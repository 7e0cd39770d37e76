"""Facts, versions and query contexts written down by hand, for the tests of retrieval."""

from tests.index_fixtures import make_context, make_table, make_view

__all__ = ["make_context", "make_table", "make_view"]
