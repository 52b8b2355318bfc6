"""Kernels of a hub, which some architectures of transformers load by themselves, whatever a folder's settings say: refused while we load a model.

YOSO, MRA and RWKV ask for one when they are made (where there are CUDA and ninja), GPT-Neo, GPT-J, Falcon and Bark when they are imported; each
does without where it gets none. transformers' own switch, ``USE_HUB_KERNELS=0``, is not asked on these ways. All of them lead through two functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

__all__ = ["no_kernels"]

_WAYS = (("kernels", "get_kernel"), ("transformers.integrations.hub_kernels", "get_kernel_hub"))


@contextmanager
def no_kernels() -> Iterator[None]:
    """Let transformers load no kernel; as it was before, after."""
    from transformers.utils.import_utils import is_kernels_available

    ways = [(import_module(module), name) for module, name in _WAYS] if is_kernels_available() else []
    found = [(module, name, getattr(module, name)) for module, name in ways]
    try:
        for module, name, _ in found:
            setattr(module, name, _refuse)
        yield
    finally:
        for module, name, own in found:
            setattr(module, name, own)


def _refuse(*args: Any, **_: Any) -> NoReturn:
    raise RuntimeError(f"no kernel is loaded from a hub here: {args}")
