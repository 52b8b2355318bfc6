"""TK against its formulas written plainly over a padded batch (the peer of its training rows): the same loss and gradients."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from positionbias.models.kernels import kernel_means
from positionbias.models.shapes import TKConfig
from positionbias.models.tk import TK
from positionbias.text.vocabulary import Vocabulary
from positionbias.training.losses import pairwise_hinge

CONFIG = TKConfig(dimension=24, heads=3, head_size=5, feed_forward=11)


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> tuple[nn.Module, TK]:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    from peers.tk import PlainTK

    torch.manual_seed(1)
    ours = TK(CONFIG, Vocabulary([f"word{i}" for i in range(50)]))
    names = (
        "dimension",
        "layers",
        "heads",
        "head_size",
        "feed_forward",
        "kernels",
        "kernel_sigma",
        "passage_start",
        "passage_length",
    )
    shape = {name: getattr(CONFIG, name) for name in names}
    shape |= {
        "words": len(ours.embedding.weight),
        "means": [float(m) for m in kernel_means(CONFIG.kernel_layout, CONFIG.kernels)],
    }
    plain = PlainTK(shape)
    plain.load_state_dict(ours.state_dict())
    return plain, ours


def batch(model: TK) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(5)

    def texts(count: int, longest: int) -> list[list[int]]:
        lengths = torch.randint(1, longest + 1, (count,), generator=generator).tolist()
        return [torch.randint(1, 52, (length,), generator=generator).tolist() for length in lengths]

    return model.inputs(texts(9, 6), texts(18, 40))


def learned(model: nn.Module, inputs: dict[str, Tensor], *, half: bool) -> tuple[float, dict[str, Tensor]]:
    """The loss, and its gradient by parameter."""
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
        scores = model(**inputs).float().view(2, -1).t()
    loss = pairwise_hinge(scores).mean()
    named = dict(model.named_parameters())
    made = torch.autograd.grad(loss, list(named.values()))
    return float(loss.detach()), {name: gradient.to_dense() for name, gradient in zip(named, made, strict=True)}


def furthest(expected: dict[str, Tensor], found: dict[str, Tensor]) -> float:
    """The largest |difference| / |gradient| (2-norms) of a parameter that has a gradient to speak of (a bias of keys has none)."""
    whole = torch.cat([gradient.flatten() for gradient in expected.values()]).norm()
    return max(float((found[name] - one).norm() / one.norm()) for name, one in expected.items() if one.norm() > 1e-6 * whole)


def test_the_same_loss_and_gradients(models):
    plain, ours = models
    inputs = batch(ours)
    (expected, expected_gradients), (found, gradients) = (learned(model, inputs, half=False) for model in (plain, ours))
    assert expected > 0.5  # what is compared is not nothing
    assert found == pytest.approx(expected, rel=1e-6)
    assert furthest(expected_gradients, gradients) < 1e-4
    assert learned(ours, inputs, half=True)[0] == pytest.approx(learned(plain, inputs, half=True)[0], rel=0.02)
    ours.layers[1].expand.bias.data[0] += 1.0
    assert furthest(expected_gradients, learned(ours, inputs, half=False)[1]) > 1e-3
