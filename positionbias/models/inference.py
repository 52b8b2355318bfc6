"""Faster forms of encoders for inference on a CPU: packed texts in torch, or OpenVINO in bfloat16
where it is installed.

They are made of a model's weights when it is first used without gradients, one for each precision,
and made anew when weights change: after a step of any optimizer, and after any other change that
PyTorch counts. It counts none through ``.data`` or a NumPy view.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from positionbias.core.progress import remark
from positionbias.models.cls_only import hooked
from positionbias.models.onednn import multiplies_bfloat16
from positionbias.models.openvino_encoder import openvino_encoder
from positionbias.models.packed import packed_encoder


class InferenceForm(Protocol):
    """A form of an encoder that computes its last states, float32, of padded inputs
    ``(n, length)``.
    """

    def cls_of(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return the states of the first tokens, ``(n, dim)``."""
        ...

    def states_of(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return the states of all tokens, ``(n, length, dim)``; those of padding mean nothing."""
        ...


# with the state of the weights from which each was made
_FORMS: WeakKeyDictionary[nn.Module, dict[torch.dtype, tuple[Any, InferenceForm | None]]] = (
    WeakKeyDictionary()
)
_PRECISIONS = (torch.float32, torch.bfloat16)
_MAKING = Lock()  # threads that use a model for the first time make one form


def _forget(optimizer: torch.optim.Optimizer, *_: Any) -> None:
    """Drop the forms of models that an optimizer has changed."""
    if _FORMS:
        changed = {id(weight) for group in optimizer.param_groups for weight in group["params"]}
        with _MAKING:
            for backbone in [
                one for one in _FORMS if not changed.isdisjoint(map(id, one.parameters()))
            ]:
                del _FORMS[backbone]


register_optimizer_step_post_hook(_forget)  # fused optimizers change weights without counting it


def inference_form(backbone: Any) -> InferenceForm | None:
    """Return a model's form in the present precision; None where it has none, or gradients are
    wanted.

    It has none off a CPU, of weights that are not float32, under float16, and where forward hooks
    are registered.

    Forms are dropped when the model is trained on.
    """
    if torch.is_grad_enabled() or backbone.training:
        _FORMS.pop(backbone, None)
        return None
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else torch.float32
    if backbone.device.type != "cpu" or backbone.dtype != torch.float32 or dtype not in _PRECISIONS:
        return None
    if hooked(backbone):
        return None
    with _MAKING:
        forms, state = _FORMS.setdefault(backbone, {}), _state(backbone)
        if dtype not in forms or forms[dtype][0] != state:
            forms[dtype] = state, _made(backbone, dtype)
        return forms[dtype][1]


def _state(backbone: nn.Module) -> tuple[tuple[int, int], ...]:
    """Return what changes when weights do: where they lie, and how often they were written."""
    return tuple((weight.data_ptr(), weight._version) for weight in backbone.parameters())


def _made(backbone: Any, dtype: torch.dtype) -> InferenceForm | None:
    packed = packed_encoder(backbone, dtype)
    if dtype != torch.bfloat16:
        return packed
    if not multiplies_bfloat16():
        remark(
            "bfloat16: this processor has no instructions for it; --set precision=float32 is faster"
        )
        return packed
    compiled = None if packed is None else openvino_encoder(backbone)
    if compiled is not None:
        remark("bfloat16: computed by OpenVINO")
        return compiled
    remark("bfloat16: computed by torch; OpenVINO is faster: pip install 'positionbias[openvino]'")
    return packed
