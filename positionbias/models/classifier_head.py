"""Express a linear layer on [CLS] as the head of transformers' own sequence classifiers, without
changing a score.

These classifiers have a dense layer, an activation and an output layer. BERT_CAT has one linear
layer, s = W h + b, which takes one of two forms in them. Both can be read back to the bit.

tanh          dense = 2⁻¹² I, output = 2¹² W. tanh x differs from x by x³ / 3: for states up to 8 by
              less than float32 rounds s.
ReLU, GELU    dense has the rows w and −w for each row of W, output is 1 and −1 there:
              f(x) − f(−x) = x.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from positionbias.models.libraries import transformers_library

# small enough for tanh to be the identity in float32, large enough for products with a state to be
# normal numbers in float16
_SCALE = 2.0**-12


@dataclass(frozen=True, slots=True)
class _Form:
    """The names of a classifier's dense and output layers, and whether its activation is tanh (else
    one with f(x) − f(−x) = x).
    """

    dense: str
    output: str
    tanh: bool

    def tensors(self, head: nn.Linear) -> dict[str, Tensor]:
        """Return the classifier's tensors that compute ``head``."""
        weight, bias = head.weight.detach(), head.bias.detach()
        outputs, width = weight.shape
        dense, output = weight.new_zeros(width, width), weight.new_zeros(outputs, width)
        if self.tanh:
            dense.fill_diagonal_(_SCALE)
            output = weight / _SCALE
        else:
            for row in range(outputs):
                dense[2 * row], dense[2 * row + 1] = weight[row], -weight[row]
                output[row, 2 * row], output[row, 2 * row + 1] = 1.0, -1.0
        return {
            f"{self.dense}.weight": dense,
            f"{self.dense}.bias": weight.new_zeros(width),
            f"{self.output}.weight": output,
            f"{self.output}.bias": bias,
        }

    def weight(self, classifier: nn.Module) -> Tensor:
        """Return W of a classifier whose tensors ``tensors`` made."""
        output = classifier.get_parameter(f"{self.output}.weight")
        if self.tanh:
            return output * _SCALE
        return classifier.get_parameter(f"{self.dense}.weight")[: 2 * len(output) : 2]


_DENSE_TANH = _Form("classifier.dense", "classifier.out_proj", tanh=True)
# by the class of the encoder; ModernBERT's classifier has a layer norm, so none there
_FORMS: Mapping[str, _Form] = {
    "BertModel": _Form("bert.pooler.dense", "classifier", tanh=True),
    "DistilBertModel": _Form("pre_classifier", "classifier", tanh=False),
    "ElectraModel": _Form("classifier.dense", "classifier.out_proj", tanh=False),
    "RobertaModel": _DENSE_TANH,
    "XLMRobertaModel": _DENSE_TANH,
    "CamembertModel": _DENSE_TANH,
    "MPNetModel": _DENSE_TANH,
}


def has_classifier(encoder: nn.Module) -> bool:
    """Return True if the classifier of an encoder's architecture can compute a linear layer
    exactly.
    """
    return type(encoder).__name__ in _FORMS


def with_classifier(encoder: Any, head: nn.Linear) -> Any:
    """Return the sequence classifier of an encoder's architecture that computes ``head``; it shares
    the encoder's weights.
    """
    config = copy.deepcopy(encoder.config)
    config.num_labels = head.out_features
    with torch.device("meta"):  # no weights of its own
        whole = transformers_library().AutoModelForSequenceClassification.from_config(config)
    own = {
        f"{whole.base_model_prefix}.{name}": tensor for name, tensor in encoder.state_dict().items()
    }
    whole.load_state_dict({**own, **_FORMS[type(encoder).__name__].tensors(head)}, assign=True)
    return whole


def linear_of(classifier: Any) -> dict[str, Tensor]:
    """Return weight and bias of the linear layer that a classifier made by ``with_classifier``
    computes.
    """
    form = _FORMS[type(classifier.base_model).__name__]
    bias = classifier.get_parameter(f"{form.output}.bias")
    return {"weight": form.weight(classifier).detach().clone(), "bias": bias.detach().clone()}
