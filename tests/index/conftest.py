"""Facts, versions and query contexts written down by hand, for the tests of the index."""

from tests.index_fixtures import make_context, make_table

__all__ = ["make_context", "make_table"]
