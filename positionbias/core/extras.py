"""The packages that models need, and a base install leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from positionbias.core.errors import DependencyError

__all__ = ["MODELS", "models_extra"]

MODELS = ("accelerate", "huggingface_hub", "safetensors", "tokenizers", "torch", "transformers")


@contextmanager
def models_extra() -> Iterator[None]:
    """Turn a failed import of a model package into an error that names the extra to install.

    Raises:
        DependencyError: a package of the extra ``models`` is missing.

    >>> with models_extra():
    ...     raise ModuleNotFoundError("No module named 'torch'", name="torch")
    Traceback (most recent call last):
    ...
    positionbias.core.errors.DependencyError: models: wanted the package torch; found none; run: pip install 'positionbias[models]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in MODELS:
            raise
        raise DependencyError(
            f"models: wanted the package {error.name}; found none; run: pip install 'positionbias[models]'"
        ) from error
