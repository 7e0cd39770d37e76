from tests.index_fixtures import make_context, make_table

__all__ = ["make_context", "make_table"]
