"""Contamination: the effect of training on a test set on models and their students."""
