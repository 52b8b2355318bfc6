"""Per cent in sentences, as reports write it: one decimal, and a space before the sign that does not break."""

from __future__ import annotations

__all__ = ["NBSP", "percent"]

NBSP = "\u00a0"


def percent(fraction: float, sign: str = "") -> str:
    """A fraction as per cent, 0.0856 is ``8.6 %``; ``sign`` "+": with a plus before what is not below zero."""
    return f"{100 * fraction:{sign}.1f}{NBSP}%"
