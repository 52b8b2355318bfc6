"""Train-test leakage: training queries that near-duplicate test queries, and their effect."""

__all__: list[str] = []
