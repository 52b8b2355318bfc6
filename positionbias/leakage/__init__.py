"""Train-test leakage: training queries that near-duplicate test queries, and what they do."""

__all__: list[str] = []
