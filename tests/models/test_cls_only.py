"""The last layer for [CLS] alone gives what the whole last layer gives, and the same gradients, in
every architecture.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from positionbias.models.cls_only import ARRANGEMENTS, HEADS
from positionbias.models.encoder import Encoder, open_encoder

from .encoders import ARCHITECTURES, saved

TEXTS = ["what is the lamp of the hall", "", "iron gate green oil", "a stone"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("encoders")


def encoder_of(folders: Path, architecture: str, *, classifier: bool = False) -> Encoder:
    place = folders / f"{architecture}{'-classifier' * classifier}"
    return open_encoder(
        place if place.exists() else saved(architecture, place, classifier=classifier),
        classifier=classifier,
    )


def inputs(encoder: Encoder, texts: list[str]) -> dict[str, Tensor]:
    rows = encoder.read(texts, 40)
    return encoder.assemble(rows, rows[::-1], limit=40)


def test_the_table_names_what_transformers_has() -> None:
    import transformers

    assert {*ARRANGEMENTS, *HEADS} <= set(dir(transformers))


@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_states_are_those_of_the_whole_layer(
    folders: Path, architecture: str, padded: bool
) -> None:
    encoder = encoder_of(folders, architecture).eval()
    given = inputs(encoder, TEXTS if padded else [TEXTS[0]] * 3)
    assert ("attention_mask" in given) is padded
    with torch.no_grad():
        whole = encoder.last_hidden(**given)
        assert torch.allclose(encoder.cls(**given), whole[:, 0], atol=2e-6)
    assert whole.std() > 0.1


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_gradients_are_those_of_the_whole_layer(folders: Path, architecture: str) -> None:
    encoder = encoder_of(folders, architecture).train()
    for part in encoder.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    given, found = inputs(encoder, TEXTS), []
    for states in (lambda: encoder.cls(**given), lambda: encoder.last_hidden(**given)[:, 0]):
        encoder.zero_grad()
        states().square().mul(torch.arange(16)).mean().backward()
        found.append(
            {
                name: weight.grad.clone()
                for name, weight in encoder.named_parameters()
                if weight.grad is not None
            }
        )
    ours, theirs = found
    # none is left over
    assert ours.keys() == theirs.keys() == {name for name, _ in encoder.named_parameters()}
    for name, gradient in theirs.items():
        assert torch.allclose(
            ours[name], gradient, rtol=1e-3, atol=1e-4 * max(1.0, float(gradient.abs().max()))
        ), name


@pytest.mark.parametrize("architecture", [name for name in ARCHITECTURES if name != "mpnet"])
def test_a_classifier_s_logits_are_its_own(folders: Path, architecture: str) -> None:
    encoder = encoder_of(folders, architecture, classifier=True).eval()
    given = inputs(encoder, TEXTS)
    with torch.no_grad():
        assert torch.allclose(encoder.logits(**given), encoder.model(**given).logits, atol=2e-6)


def test_another_attention_is_left_to_the_model(folders: Path) -> None:
    encoder = encoder_of(folders, "bert").eval()
    given = inputs(encoder, TEXTS)
    with torch.no_grad():
        expected = encoder.cls(**given)
        encoder.model.set_attn_implementation("eager")
        assert torch.allclose(encoder.cls(**given), expected, atol=2e-6)
