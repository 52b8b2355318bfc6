"""Contamination: what a test set does to models, and to their students, when a model has been trained on it."""

__all__: list[str] = []
