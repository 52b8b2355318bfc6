"""Measurements: their typed payloads, their header, and the folder they are saved in."""
