"""``posbias study tripclick`` as a user runs it: bad options, a dry run, a whole run with its
report.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.models.new_encoder import make_encoder
from positionbias.models.settings import EncoderSettings
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings

from ..tiny import TINY

GIVEN = [
    "--test-split",
    "test:true",
    "--out",
    "./study",
    "--set",
    "depth=5",
    "--set",
    "retrieval_depth=8",
    "--set",
    "depths=2",
    "--set",
    "depths=8",
]
GIVEN += [
    "--set",
    "train_depth=12",
    "--set",
    "negatives=2",
    "--set",
    "threads=1",
    "--set",
    "batch_size=8",
    "--set",
    "max_steps=2",
    "--set",
    "validate_every=1",
]
GIVEN += [
    "--seeds",
    1,
    "--negatives-of",
    "original=passed-over",
    "--set",
    "complete_qrels=true",
    "--models",
    "tk",
    "--models",
    "bert_dot",
]
NAMES = ("dimension", "layers", "heads", "head_size", "feed_forward")


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """A TK on two training sets, and a retriever."""
    folder = tmp_path_factory.mktemp("tripclick")
    settings = PlantedSettings(
        queries=60, passages=60 * 5, answers_each=3, test_share=0.4, validation_share=0.05
    )
    collection: Collection = write_planted(folder / "clicks", settings)
    make_encoder(
        [collection], folder / "small", EncoderSettings(layers=1, width=8, heads=2, pieces=120)
    )
    given: list[object] = [
        "study",
        "tripclick",
        collection.path,
        *GIVEN,
        "--encoder",
        folder / "small",
    ]
    for name in NAMES:
        given += ["--set", f"tk.{name}={getattr(TINY, name)}"]
    return given


def test_bad_options(
    command: list[object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for more, line in (
        (
            ["--test-split", "test:"],
            "--test-split: wanted SPLIT or SPLIT:JUDGEMENTS; found 'test:'",
        ),
        (
            ["--test-split", "test:dctr"],
            "wanted judgements 'dctr' of split 'test'; found true, passed-over",
        ),
        (
            ["--models", "tk=minilm"],
            "--models: wanted KIND=ENCODER of a model over an encoder; found tk=minilm",
        ),
        (["--models", "tk"], "--models: wanted at least one, each once; found tk"),
        (
            ["--negatives-of", "passed-over"],
            "--negatives-of: wanted NAME=JUDGEMENTS, each name once; found",
        ),
        (
            ["--set", "compared=bert_cat"],
            "compared: wanted some of tk, bert_dot; found 'bert_cat'",
        ),
        (
            ["--negatives-of", "other=own", "--trainset", "other=CHECKPOINT"],
            "--trainset: wanted at least one, each once; found regenerated, original, other",
        ),
    ):
        with pytest.raises(SystemExit) as stop:
            main(
                [
                    *map(str, command),
                    *(str(part).replace("CHECKPOINT", str(tmp_path)) for part in more),
                ]
            )
        said = capsys.readouterr().err
        assert (stop.value.code, said.count("\n")) == (2, 1), said
        assert line in said
    assert not (tmp_path / "study" / "results").exists()
