"""Pool bias: whether a test collection can judge systems of a kind that did not feed its pool."""
