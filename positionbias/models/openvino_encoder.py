"""Encoders run by OpenVINO in bfloat16, made of a model's weights in memory: no file is read, and
nothing is fetched or sent.

The last layer is computed for [CLS] alone where only that is asked for. OpenVINO's kernels for
attention, and for what stands between products, are faster than torch's.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from threading import Lock
from typing import Any
from weakref import ref

import torch
from torch import Tensor, nn

from positionbias.models.cls_only import cls_states


class _Named(nn.Module):
    """A model of named tensors as a function of tensors in order."""

    def __init__(self, backbone: Any, names: tuple[str, ...], *, cls_only: bool) -> None:
        super().__init__()
        self.backbone, self.names, self.cls_only = backbone, names, cls_only

    def forward(self, *tensors: Tensor) -> Tensor:
        inputs = dict(zip(self.names, tensors, strict=True))
        return (
            cls_states(self.backbone, inputs)
            if self.cls_only
            else self.backbone(**inputs).last_hidden_state
        )


class OpenVINOEncoder:
    """An ``InferenceForm``. What is asked for is compiled on its first use, which takes seconds.
    Threads take turns.
    """

    def __init__(self, backbone: Any) -> None:
        self._backbone = ref(backbone)
        self._turn = Lock()  # a compiled model has one place for inputs and outputs
        self._compiled: dict[tuple[tuple[str, ...], bool], Any] = {}

    def cls_of(self, inputs: dict[str, Tensor]) -> Tensor:
        """Implement ``InferenceForm.cls_of``."""
        return self._run(inputs, cls_only=True)

    def states_of(self, inputs: dict[str, Tensor]) -> Tensor:
        """Implement ``InferenceForm.states_of``."""
        return self._run(inputs, cls_only=False)

    def _run(self, inputs: dict[str, Tensor], *, cls_only: bool) -> Tensor:
        whole = {
            **inputs,
            "attention_mask": inputs.get("attention_mask", torch.ones_like(inputs["input_ids"])),
        }
        names = tuple(sorted(whole))
        with self._turn:
            if (names, cls_only) not in self._compiled:
                self._compiled[names, cls_only] = _compiled(
                    self._backbone(), names, cls_only=cls_only
                )
            found = self._compiled[names, cls_only]([whole[name].numpy() for name in names])
            # the next call writes where this one's output lies
            return torch.from_numpy(found[0].copy())


def openvino_encoder(backbone: Any) -> OpenVINOEncoder | None:
    """Return an encoder in bfloat16; None where OpenVINO is not installed, or has no bfloat16 on
    this processor.
    """
    if find_spec("openvino") is None:
        return None
    return (
        OpenVINOEncoder(backbone)
        if "BF16" in _core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        else None
    )


@cache
def _core() -> Any:
    """Return OpenVINO's one core, which is never freed.

    OpenVINO gives the thread that makes a core a stack for signals of its own, and removes it when
    the core and its models are freed, also from another thread. The next signal would then end the
    process, even that of Ctrl-C or of a child that ends.
    """
    from openvino import Core

    return Core()


def _compiled(backbone: Any, names: tuple[str, ...], *, cls_only: bool) -> Any:
    """Return the compiled model of inputs ``(n, length)`` in the order of ``names``, for as many
    threads as torch has.
    """
    import openvino.frontend.pytorch.ts_decoder

    with (
        warnings.catch_warnings(),
        torch.inference_mode(False),
        torch.no_grad(),
        torch.autocast("cpu", enabled=False),
    ):
        # transformers compares lengths in Python, which do not matter here
        warnings.simplefilter("ignore")
        example = tuple(torch.ones(2, 16, dtype=torch.int64) for _ in names)
        decoder = openvino.frontend.pytorch.ts_decoder.TorchScriptPythonDecoder(
            _Named(backbone, names, cls_only=cls_only).eval(), example_input=example
        )
        frontend = openvino.frontend.FrontEndManager().load_by_framework("pytorch")
        model = frontend.convert(frontend.load(decoder))
    threads = torch.get_num_threads()
    settings: Mapping[str, Any] = {
        "INFERENCE_PRECISION_HINT": "bf16",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
    }
    return _core().compile_model(model, "CPU", settings)
