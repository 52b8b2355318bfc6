"""Block hub kernels, which some transformers architectures load regardless of settings, while we
load a model.

YOSO, MRA and RWKV load one when constructed (with CUDA and ninja), GPT-Neo, GPT-J, Falcon and Bark
when imported; all work without one. They ignore transformers' own switch, ``USE_HUB_KERNELS=0``,
but all go through two functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

from positionbias.models.libraries import transformers_library

_WAYS = (("kernels", "get_kernel"), ("transformers.integrations.hub_kernels", "get_kernel_hub"))


@contextmanager
def no_kernels() -> Iterator[None]:
    """Keep transformers from loading kernels within the block."""
    there = transformers_library().utils.import_utils.is_kernels_available()
    ways = [(import_module(module), name) for module, name in _WAYS] if there else []
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
