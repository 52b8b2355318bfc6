"""TK over packed texts against the same layers over a padded batch: scores and all gradients, in
each precision; the same bits again.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from positionbias.models import tk_pack as packs
from positionbias.models.protocols import pad_rows
from positionbias.models.shapes import TKConfig
from positionbias.models.tk import TK
from positionbias.models.tk_pack import Pack
from positionbias.models.word_model import WordModel
from positionbias.text.vocabulary import Vocabulary

WORDS = 40


def model(**changes: object) -> TK:
    torch.manual_seed(3)
    sizes = {"dimension": 12, "heads": 3, "head_size": 5, "feed_forward": 7, "layers": 2, **changes}
    tk = TK(TKConfig(**sizes), Vocabulary([f"word{i}" for i in range(WORDS)]))  # type: ignore
    with torch.no_grad():
        for parameter in tk.parameters():
            parameter += 0.1 * torch.randn_like(parameter)  # no bias is 0, no norm 1
        tk.embedding.weight[0] = 0
    return tk


def texts(seed: int, queries: int = 5, negatives: int = 1, longest: int = 60) -> dict[str, Tensor]:
    """Queries and passages of 1 word to ``longest``, the first passage of one word."""
    generator = torch.Generator().manual_seed(seed)

    def rows(count: int, most: int) -> Tensor:
        lengths = [1, *torch.randint(1, most + 1, (count - 1,), generator=generator).tolist()]
        return pad_rows(
            [torch.randint(1, WORDS, (length,), generator=generator).tolist() for length in lengths]
        )

    return {"queries": rows(queries, 9), "passages": rows(queries * (1 + negatives), longest)}


def scores_and_gradients(
    tk: TK, inputs: dict[str, Tensor], *, padded: bool = False
) -> tuple[Tensor, dict[str, Tensor]]:
    scores = (WordModel if padded else TK).forward(tk, **inputs)
    named = dict(tk.named_parameters())
    found = torch.autograd.grad(
        (scores.double() * torch.linspace(-1, 2, len(scores))).sum(), list(named.values())
    )
    return scores.detach(), {
        name: gradient.to_dense() for name, gradient in zip(named, found, strict=True)
    }


def assert_alike(one: dict[str, Tensor], other: dict[str, Tensor], within: float) -> None:
    for name, gradient in one.items():
        if not name.endswith("key.bias"):  # attention does not change when all keys shift alike
            assert (other[name] - gradient).norm() <= within * gradient.norm(), name
            assert gradient.norm() > 0, name


@pytest.mark.parametrize("positions", ["sinusoid", "none"])
# padded ones compare in float32
@pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-6), (torch.float32, 1e-4)])
def test_scores_and_gradients_of_padded_layers(
    positions: str, dtype: torch.dtype, within: float
) -> None:
    tk = model(positions=positions).to(dtype)
    inputs = texts(1)
    expected, found = (scores_and_gradients(tk, inputs, padded=padded) for padded in (True, False))
    torch.testing.assert_close(found[0].float(), expected[0].float(), atol=1e-5, rtol=1e-5)
    assert_alike(expected[1], found[1], within)


@pytest.mark.parametrize("longest", [1, 8, 33])
def test_many_chunks(monkeypatch: pytest.MonkeyPatch, longest: int) -> None:
    tk, inputs = model(), texts(3, queries=7, negatives=2, longest=longest)
    expected = scores_and_gradients(tk, inputs)
    monkeypatch.setattr(packs, "CHUNK", 16)  # shorter than some texts
    monkeypatch.setattr(packs, "ROWS", 3)
    monkeypatch.setattr(packs, "BLOCK", 64)
    found = scores_and_gradients(tk, inputs)
    torch.testing.assert_close(found[0], expected[0])
    assert_alike(expected[1], found[1], 1e-4)


def test_pairs_without_a_gradient_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "CHUNK", 64)  # some chunks hold nothing else
    tk, inputs = model(), texts(10, queries=6, longest=40)
    parameters = list(tk.parameters())

    def gradients(scores: Tensor) -> list[Tensor]:
        # one query's two passages
        found = torch.autograd.grad(scores[torch.tensor([1, 7])].sum(), parameters)
        return [gradient.to_dense() for gradient in found]

    found, expected = gradients(tk(**inputs)), gradients(WordModel.forward(tk, **inputs))
    assert_alike(
        *(
            {name: g for (name, _), g in zip(tk.named_parameters(), one, strict=True)}
            for one in (expected, found)
        ),
        1e-4,
    )


# -- the pack --------------------------------------------------------------------------------------


def test_a_pack_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "CHUNK", 5)
    monkeypatch.setattr(packs, "ROWS", 4)
    pack = Pack.of((torch.tensor([[7, 0], [0, 0]]), 0), (torch.tensor([[5, 7, 9], [9, 5, 0]]), 2))
    assert pack.words.tolist() == [5, 7, 9]
    # the longest first: text 2 (three words) and 3 (two) fill a chunk of five, text 0 is in the
    # next; text 1 is empty
    assert [[text.number for text in chunk.texts] for chunk in pack.chunks] == [[2, 3], [0]]
    assert [(chunk.first, chunk.filled, chunk.size) for chunk in pack.chunks] == [
        (0, 5, 8),
        (8, 1, 4),
    ]
    assert pack.chunks[0].words.tolist() == [0, 1, 2, 2, 0, 0, 0, 0]
    assert pack.chunks[0].places.tolist() == [2, 3, 4, 2, 3, 0, 0, 0]
    assert (pack.size, pack.lengths, pack.rows(2), pack.rows(3), pack.rows(0)) == (
        12,
        [1, 0, 3, 2],
        slice(0, 3),
        slice(3, 5),
        slice(8, 9),
    )


def test_half_precision_is_near() -> None:
    tk, inputs = model(), texts(2)
    exact = scores_and_gradients(tk, inputs)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        padded, found = (
            scores_and_gradients(tk, inputs, padded=padded) for padded in (True, False)
        )
    assert found[0].dtype == torch.float32
    torch.testing.assert_close(found[0], exact[0], atol=0.05, rtol=0.02)

    def apart(other: dict[str, Tensor]) -> float:
        return sum(
            float((other[name] - gradient).square().sum()) for name, gradient in exact[1].items()
        )

    # no further from full precision than autocast over padded layers
    assert apart(found[1]) < 2 * apart(padded[1])
