"""The rows of results whose figures have no class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from positionbias.results.payloads import Statistics
from positionbias.results.result import Result

__all__ = ["rows_of"]


def rows_of(result: Result) -> Mapping[str, Any]:
    """The rows of a result of statistics."""
    assert isinstance(result.payload, Statistics)
    return result.payload.rows
