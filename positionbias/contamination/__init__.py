"""Contamination: the effect of training on a test set, on models and on their students."""

__all__: list[str] = []
