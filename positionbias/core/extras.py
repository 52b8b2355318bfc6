"""The packages that models need, and a base install leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from positionbias.core.errors import DependencyError

MODELS = (
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "huggingface_hub",
    "accelerate",
    "threadpoolctl",
)


@contextmanager
def models_extra(needed_by: str = "models", instead: str = "") -> Iterator[None]:
    """Turn a failed import of a model package into an error that names the extra to install.

    ``needed_by`` names what needs it, ``instead`` what does without.

    Raises:
        DependencyError: a package of the extra ``models`` is missing.

    >>> with models_extra():
    ...     raise ModuleNotFoundError("No module named 'torch'", name="torch")
    Traceback (most recent call last):
    ...
    positionbias.core.errors.DependencyError: models: wanted the package torch; found none; run: pip
        install 'positionbias[models]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in MODELS:
            raise
        raise _missing(error.name, needed_by, instead) from error


def check_models(needed_by: str) -> None:
    """Refuse long work that needs models where a package of them is not installed.

    Raises:
        DependencyError: one is not.
    """
    for name in MODELS:
        with models_extra(needed_by):
            if find_spec(name) is None:
                raise _missing(name, needed_by)


def _missing(name: str, needed_by: str, instead: str = "") -> DependencyError:
    return DependencyError(
        f"{needed_by}: wanted the package {name}; found none; run: pip install "
        f"'positionbias[models]'{instead and f', or {instead}'}"
    )
