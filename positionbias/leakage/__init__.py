"""Train-test leakage: near-duplicates of test queries in training, and their effect."""
