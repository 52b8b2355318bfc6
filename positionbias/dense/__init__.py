"""Dense retrieval: a collection's passages as vectors, one each, and the nearest of them to a query."""

__all__: list[str] = []
