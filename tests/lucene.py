"""The mark of tests that need Lucene."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

__all__ = ["needs_lucene"]

needs_lucene = pytest.mark.skipif(
    find_spec("pyserini") is None or find_spec("jnius") is None,
    reason='needs pip install "positionbias[lucene]"',
)
