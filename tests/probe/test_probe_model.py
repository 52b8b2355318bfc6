"""From a checkpoint to MATS: term vectors, the passages probed, and the two commands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import Manifest, input_ref, read_manifest
from positionbias.core.records import Passage
from positionbias.core.rows import load
from positionbias.models.bert_dot import BertDot
from positionbias.models.checkpoint import load_checkpoint, save_checkpoint
from positionbias.models.encoder import load_encoder
from positionbias.models.protocols import pad_rows
from positionbias.models.shapes import BertDotConfig, TKConfig
from positionbias.models.term_layers import WordPieces
from positionbias.models.tk import TK
from positionbias.positions.debias import debias
from positionbias.positions.rotate import Rotation
from positionbias.probe.ats import mats_of
from positionbias.probe.passages import (
    collection_of_checkpoint,
    original_collection,
    sample_passages,
)
from positionbias.probe.settings import ProbeSettings
from positionbias.probe.term_vectors import probe_model
from positionbias.text.vocabulary import UNKNOWN, Vocabulary, count_words

from ..tiny import tiny_encoder
from .words import Words, every_pair

WORDS = "the lamp of orvell burns green oil by night and the gate of iron opens at dusk".split()


def invented_passages() -> list[Passage]:
    """Forty passages of four to 18 words; "rare" words stand once and are unknown to the model."""
    rng = np.random.default_rng(1)
    drawn = [
        " ".join([*rng.choice(WORDS, rng.integers(3, 18)), f"rare{number}"]) for number in range(40)
    ]
    return [Passage(f"p{number}", text) for number, text in enumerate(drawn)]


@pytest.fixture
def original(tmp_path: Path) -> Collection:
    place = tmp_path / "data" / "original"
    with create_collection(place) as writer:
        writer.add_passages(invented_passages())
        writer.finish(Manifest("collection", "original", "a test", licence="invented"))
    return Collection(place)


def saved_model(place: Path, trained_on: Collection | None, seed: int = 1) -> Path:
    """A small TK with random weights, whose manifest leads to ``trained_on``."""
    torch.manual_seed(seed)
    vocabulary = Vocabulary.build(count_words(passage.text for passage in invented_passages()))
    config = TKConfig(
        dimension=8, layers=1, heads=2, head_size=4, feed_forward=6, passage_length=12
    )
    inputs = (
        (input_ref("collection", trained_on.path, trained_on.checksum, artefact=place),)
        if trained_on
        else ()
    )
    manifest = Manifest(
        kind="checkpoint", name=place.name.split(".")[0], command="train tk", inputs=inputs
    )
    save_checkpoint(place, TK(config, vocabulary), depth=10, training={}, manifest=manifest)
    return place


def run(*arguments: object) -> int:
    """The exit code of one command."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def test_probe_of_a_model_equals_a_loop_over_every_pair(
    original: Collection, tmp_path: Path
) -> None:
    checkpoint = load_checkpoint(saved_model(tmp_path / "tk.ckpt", original))
    (probed,) = probe_model(checkpoint, original, ProbeSettings(minimum_terms=10))
    rows = [checkpoint.model.read_passages([passage.text])[0] for passage in original.passages()]
    vectors = [
        checkpoint.model.passage_vectors(pad_rows([row]))[0].detach().numpy() for row in rows
    ]
    lengths = [len(row) for row in rows]
    found = Words(
        np.concatenate(rows),
        np.concatenate([*map(np.arange, lengths)]),
        np.repeat(np.arange(40), lengths),
        np.vstack(vectors),
    )
    expected = every_pair(found)
    curve = probed.curve
    assert len(curve.ats) == 12  # twelve words are read of each passage
    means = [np.mean([np.mean(v) for v in expected[delta].values()]) for delta in range(12)]
    assert curve.ats == pytest.approx(means, abs=1e-5)
    falls = sum(curve.ats[0] - value for value in curve.ats[1:])
    assert mats_of(curve.ats).printed == pytest.approx(falls / 10)
    assert (probed.system, probed.passages, probed.words) == ("tk", 40, sum(lengths))
    assert probed.unknown == sum(row.count(UNKNOWN) for row in rows) > 10
    assert probed.at_limit == lengths.count(12) > 3


def saved_bert(place: Path, original: Collection) -> Path:
    """A small BERT_DOT with random weights."""
    model = BertDot(
        BertDotConfig(passage_length=40), load_encoder(tiny_encoder(place.with_suffix(".encoder")))
    )
    manifest = Manifest(
        kind="checkpoint",
        name="dot",
        command="train bert_dot",
        inputs=(input_ref("collection", original.path, original.checksum, artefact=place),),
    )
    save_checkpoint(place, model, depth=10, training={}, manifest=manifest)
    return place


def test_the_layers_of_an_encoder_equal_a_loop_over_every_pair(
    original: Collection, tmp_path: Path
) -> None:
    checkpoint = load_checkpoint(saved_bert(tmp_path / "dot.ckpt", original))
    results = probe_model(
        checkpoint, original, ProbeSettings(probe_layers=(0, 2), probe_passages=12, minimum_terms=3)
    )
    assert [result.system for result in results] == ["dot layer 0", "dot layer 2"]
    pieces = WordPieces(checkpoint.model.encoder, 40, [0, 2])
    texts = original.texts(sample_passages(original, 12, seed=1))
    rows = pieces.read_passages(texts)
    lengths = [len(row) for row in rows]
    assert max(lengths) == 38  # [CLS] and [SEP] aside
    for place, result in enumerate(results):
        alone = np.vstack([pieces.term_vectors([row])[place, 0].numpy() for row in rows])
        found = Words(
            np.concatenate(rows),
            np.concatenate([*map(np.arange, lengths)]),
            np.repeat(np.arange(12), lengths),
            alone,
        )
        expected = every_pair(found)
        curve = result.curve
        means = [
            np.mean([np.mean(values) for values in expected[delta].values()])
            for delta in range(len(curve.ats))
        ]
        assert len(means) > 10
        assert curve.ats == pytest.approx(means, abs=1e-5)
        assert (result.words, result.passages) == (sum(lengths), 12)
    assert results[0].curve.ats != results[1].curve.ats
    (last,) = probe_model(
        checkpoint, original, ProbeSettings(probe_passages=12, minimum_terms=3)
    )  # without layers: the last, by the plain name
    assert last.system == "dot"
    assert last.curve.ats == pytest.approx(results[1].curve.ats)


def test_a_sample_is_keyed_by_the_passage(original: Collection, tmp_path: Path) -> None:
    sample = sample_passages(original, 10, seed=1)
    assert len(set(sample)) == 10
    assert sample == [item for item in original.passage_ids() if item in sample]  # in stored order
    assert sample_passages(original, 10, seed=2) != sample
    assert set(sample_passages(original, 9, seed=1)) < set(sample)
    assert (
        sample_passages(original, None, seed=1)
        == sample_passages(original, 99, seed=1)
        == original.passage_ids()
    )
    with create_collection(tmp_path / "fewer") as writer:
        gone = sample[0]
        writer.add_passages(
            reversed([passage for passage in original.passages() if passage.passage_id != gone])
        )
        writer.finish(Manifest("collection", "fewer", "a test"))
    others = sample_passages(Collection(tmp_path / "fewer"), 9, seed=1)
    assert set(others) == set(sample) - {gone}
    with pytest.raises(SettingError, match="--probe-passages"):
        sample_passages(original, 0, seed=1)


def test_a_checkpoint_leads_through_rotations_to_the_original(
    original: Collection, tmp_path: Path
) -> None:
    once = debias(original, tmp_path / "once", Rotation(seed=1))
    twice = debias(once, tmp_path / "elsewhere" / "twice", Rotation(seed=2))
    place = saved_model(tmp_path / "models" / "tk.ckpt", twice)
    found = collection_of_checkpoint(place, read_manifest(place))
    assert (found.path, found.checksum) == (original.path, original.checksum)
    assert original_collection(original) is original


def test_a_checkpoint_that_leads_nowhere_says_so(original: Collection, tmp_path: Path) -> None:
    place = saved_model(tmp_path / "none.ckpt", None)
    with pytest.raises(
        InputError,
        match="names the collection trained on; found none; name the collection to probe",
    ):
        collection_of_checkpoint(place, read_manifest(place))
    rotated = debias(original, tmp_path / "rotated", Rotation())
    place = saved_model(tmp_path / "tk.ckpt", rotated)
    shutil.move(original.path, tmp_path / "moved")
    with pytest.raises(
        InputError,
        match=(
            r"the original that its manifest names, .*data/original; found nothing there any more"
        ),
    ):
        collection_of_checkpoint(place, read_manifest(place))
    with create_collection(original.path) as writer:
        writer.add_passages([Passage("p0", "another text")])
        writer.finish(Manifest("collection", "original", "a test"))
    with pytest.raises(InputError, match="found other content"):
        collection_of_checkpoint(place, read_manifest(place))


def printed_mats(out: str, collection: str) -> float:
    (value,) = [
        row["value"]
        for row in json.loads(out)["rows"]
        if (row["measure"], row["statistic"], row["collection"]) == ("MATS", "mean", collection)
    ]
    return value


def test_mats_without_a_collection_probes_the_original(
    original: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rotated = debias(original, tmp_path / "rotated", Rotation())
    place = saved_model(tmp_path / "tk.ckpt", rotated)
    assert run("mats", "--model", place, "--set", "minimum_terms=10", "--json") == 0
    printed = capsys.readouterr()
    (expected,) = probe_model(load_checkpoint(place), original, ProbeSettings(minimum_terms=10))
    assert printed_mats(printed.out, "original") == pytest.approx(
        mats_of(expected.curve.ats).printed
    )
    assert "the original passages that tk leads to" in printed.err
    # and on the rotated passages when they are named
    assert run("mats", "--model", place, rotated.path, "--set", "minimum_terms=10", "--json") == 0
    (expected,) = probe_model(load_checkpoint(place), rotated, ProbeSettings(minimum_terms=10))
    out = capsys.readouterr().out
    assert printed_mats(out, "rotated") == pytest.approx(mats_of(expected.curve.ats).printed)


def test_two_models_on_the_same_sample_and_saved(
    original: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = saved_model(tmp_path / "one" / "tk.ckpt", original)
    two = saved_model(tmp_path / "two" / "tk.ckpt", original, seed=2)
    saved = tmp_path / "saved"
    models = ("--model", one, "--model", two)
    assert (
        run(
            "mats",
            *models,
            original.path,
            "--probe-passages",
            20,
            "--set",
            "minimum_terms=5",
            "--out",
            saved,
        )
        == 0
    )
    printed = capsys.readouterr()
    assert "tk (1): 20 passages" in printed.out
    assert f"tk (2) is {two}" in printed.err
    rows = load(saved)
    first, second = rows.query("measure == 'MATS' and statistic == 'mean'").itertuples()
    assert [(row.model, row.count) for row in (first, second)] == [("tk (1)", 20), ("tk (2)", 20)]
    assert rows.query("statistic == 'pairs' and axis == ''")["value"].nunique() == 1
    assert first.value != second.value
    assert f"{first.value:.3f}" in printed.out
    assert [(item.role, item.path) for item in read_manifest(saved).inputs] == [
        ("collection", "../data/original"), ("model", "../one/tk.ckpt"),
        ("model", "../two/tk.ckpt"),
    ]  # fmt: skip
    # what stands there is not overwritten, and nothing is encoded before that is known
    assert run("mats", *models, original.path, "--out", saved) == 2
    assert "--overwrite" in capsys.readouterr().err


def test_ats_prints_the_curve(
    original: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = saved_model(tmp_path / "tk.ckpt", original)
    assert run("mats", "--curve", "--model", place, "--set", "minimum_terms=10", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    printed = [row for row in rows if (row["measure"], row["statistic"]) == ("ATS", "mean")]
    (probed,) = probe_model(load_checkpoint(place), original, ProbeSettings(minimum_terms=10))
    assert [row["value"] for row in printed] == pytest.approx(probed.curve.ats)
    assert [row["at"] for row in printed] == list(range(len(probed.curve.ats)))
    assert run("mats", "--curve", "--model", place, "--set", "minimum_terms=17") == 0
    told = capsys.readouterr().out.replace("\n", " ")
    assert "MATS is undefined. no Δ has enough terms" in told
