"""Measurements: one typed payload for each kind, their header, and the folder they are saved in."""
