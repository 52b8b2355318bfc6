"""TK against its formulas written plainly over a padded batch (the peer of its benchmark): the same loss and gradients."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch

from positionbias.models.protocols import pad_rows
from positionbias.models.shapes import TKConfig
from positionbias.models.tk import TK
from positionbias.text.vocabulary import Vocabulary

from .scripts import script_named


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return script_named("tk_step")


def batch(model: TK) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(5)

    def texts(count: int, longest: int) -> list[list[int]]:
        lengths = torch.randint(1, longest + 1, (count,), generator=generator).tolist()
        return [torch.randint(1, 52, (length,), generator=generator).tolist() for length in lengths]

    inputs = model.inputs(texts(9, 6), texts(18, 40))
    assert set(inputs) == {"queries", "passages"}
    return inputs


def test_the_same_loss_and_gradients(script: ModuleType) -> None:
    config = TKConfig(dimension=24, heads=3, head_size=5, feed_forward=11)
    models = script.contestants(config, Vocabulary([f"word{i}" for i in range(50)]))
    plain, ours = models["plain"], models["TK"]
    inputs = batch(ours)
    loss, gradients = script.apart(plain, ours, inputs, half=False)
    assert loss < 1e-6
    assert gradients < 1e-4
    loss, gradients = script.apart(plain, ours, inputs, half=True)
    assert loss < 0.02
    # and what is compared is not nothing
    assert script.loss_of(plain, inputs, half=False).item() > 0.5
    ours.layers[1].expand.bias.data[0] += 1.0
    assert script.apart(plain, ours, inputs, half=False)[1] > 1e-3


def test_a_step_moves_all_models_alike(script: ModuleType) -> None:
    models = script.contestants(TKConfig(dimension=24, heads=3, head_size=5, feed_forward=11), Vocabulary(list("abcdefgh")))
    inputs = {"queries": pad_rows([[2, 3], [4]]), "passages": pad_rows([[2, 5, 6], [4], [7, 8, 9, 3], [5]])}
    taken = list(script.rounds(models, [inputs] * 3, half=False))
    assert [set(one) for one in taken] == [set(models)] * 3
    # a kernel that nothing meets adds the same to all passages of a query: its weight has a gradient of rounding errors, which Adam
    # scales up, so what is the same for all models is how far a query's passages are apart
    apart = [torch.sub(*model(**inputs).chunk(2)) for model in models.values()]
    for other in apart[1:]:
        torch.testing.assert_close(other, apart[0], atol=1e-4, rtol=1e-4)
