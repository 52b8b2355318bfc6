"""Train-test leakage: near-duplicates of test queries in training, and their effect."""

__all__: list[str] = []
