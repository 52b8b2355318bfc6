"""The libraries that open models of others. They take seconds to load, so a model of ours loads
none.
"""

from __future__ import annotations

from typing import Any


def transformers_library() -> Any:
    """Return transformers."""
    import transformers

    return transformers


def sentence_transformers_library() -> Any:
    """Return sentence-transformers."""
    import sentence_transformers

    return sentence_transformers
