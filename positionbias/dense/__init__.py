"""Dense retrieval: one vector per passage of a collection, and the passages nearest to a query."""

__all__: list[str] = []
