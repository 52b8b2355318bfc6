"""``posbias import``, ``show`` and ``export``: collections in, looked at, and out again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query

from .conftest import RunPosbias

TRAIN = {
    "version": "1.1",
    "data": [
        {
            "title": "Orvell",
            "paragraphs": [
                {
                    "context": f"Lamp {number} burns green oil.",
                    "qas": [
                        {
                            "id": f"t{number}",
                            "question": f"What does lamp {number} burn?",
                            "answers": [{"text": "green oil", "answer_start": 14}],
                        }
                    ],
                }
                for number in range(10, 20)
            ],
        }
    ],
}
TEST = {
    "version": "v2.0",
    "data": [
        {
            "title": "Gates",
            "paragraphs": [
                {
                    "context": "Travellers pass at dusk.",
                    "qas": [
                        {
                            "id": "d1",
                            "question": "When?",
                            "is_impossible": False,
                            "answers": [{"text": "at dusk", "answer_start": 16}],
                        },
                        {"id": "d2", "question": "Why?", "is_impossible": True, "answers": []},
                    ],
                }
            ],
        }
    ],
}


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "train.json").write_text(json.dumps(TRAIN))
    (tmp_path / "dev.json").write_text(json.dumps(TEST))
    return ["import", "squad", "--train", "train.json", "--test", "dev.json"]


def test_a_plain_name_lands_in_the_current_directory_and_is_found_there(
    run_posbias: RunPosbias, files: list[str], tmp_path: Path, posbias_home: Path
) -> None:
    done = run_posbias(*files, "--out", "squad", "--set", "validation_queries=4")
    assert done.returncode == 0, done.stderr
    counts = [line.split() for line in done.stdout.splitlines()[-3:]]
    assert counts == [
        ["train", "6", "6", "6"],
        ["validation", "4", "4", "4"],
        ["test", "1", "1", "1"],
    ]
    assert "train file, SQuAD v1.1: 10 questions, 0 unanswerable and dropped" in done.stderr
    assert "test file, SQuAD v2.0: 2 questions, 1 unanswerable and dropped" in done.stderr
    assert (
        done.stderr.splitlines()[-1]
        == "written to squad; look at it with: posbias collection show squad"
    )
    assert (tmp_path / "squad").is_dir()
    assert not list(posbias_home.iterdir())
    shown = run_posbias("collection", "show", "squad")
    assert shown.returncode == 0
    head, _, rest = shown.stdout.partition("\n")
    assert head == "squad: 11 passages, 11 queries (train 6, validation 4, test 1) and 11 answers."
    assert rest.startswith(done.stdout.partition("\n")[2].rstrip())
    # ten lamps of 6 words and a sentence of 5: mean 65 / 11
    assert re.search(r"words of passages +5\.9 +6 +6 +6 +0 +0\.0", rest)
    assert "import squad (validation 4, validation by passage, seed 1)" in rest.replace("_", " ")
    assert "Licence: CC BY-SA 4.0" in rest
    assert "train: train.json (checksum " in rest


def test_squad_goes_out_and_comes_in_again(
    run_posbias: RunPosbias, files: list[str], tmp_path: Path
) -> None:
    run_posbias(*files, "--out", "./squad", "--validation-queries", 4)
    done = run_posbias("collection", "export", "squad", "--to", "squad", "--out", "./release")
    assert (done.returncode, done.stdout) == (
        0,
        "squad: 2 articles, 11 paragraphs, 11 questions\n",
    )
    train, dev = "release/train-v1.1.json", "release/dev-v1.1.json"
    again = run_posbias(
        "import",
        "squad",
        "--train",
        train,
        "--test",
        dev,
        "--validation-queries",
        4,
        "--out",
        "./again",
    )
    assert again.returncode == 0, again.stderr
    assert Collection(tmp_path / "again").checksum == Collection(tmp_path / "squad").checksum


@pytest.mark.parametrize(
    ("form", "back"),
    [
        ("msmarco", ["import", "msmarco", "out"]),
        (
            "trec",
            [
                "import",
                "trec",
                "--docs",
                "out/docs",
                "--topics",
                "out/topics.train.txt",
                "--qrels",
                "out/qrels.train.txt",
            ],
        ),
    ],
)
def test_what_a_form_can_hold_comes_back(
    run_posbias: RunPosbias, tmp_path: Path, form: str, back: list[str]
) -> None:
    with create_collection(tmp_path / "c") as writer:
        writer.add_passages(
            Passage(f"p{number}", f"Lamp {number}, and <more> é.") for number in range(9)
        )
        writer.add_split(
            "train",
            [Query("q1", "a lamp"), Query("q2", "é")],
            [Qrel("q1", "p3", 1), Qrel("q2", "p4", 1)],
        )
        writer.finish(Manifest("collection", "c", "a test"))
    done = run_posbias(
        "collection", "export", "./c", "--to", form, "--workers", 2, "--out", "./out"
    )
    assert done.returncode == 0, done.stderr
    assert "9 " in done.stdout
    assert done.stderr == "written to out\n"
    again = run_posbias(*back, "--out", "./again")
    assert again.returncode == 0, again.stderr
    checksums = [
        Collection(tmp_path / name).manifest.content["passages_checksum"] for name in ("c", "again")
    ]
    assert checksums[0] == checksums[1]


def test_an_export_of_another_form_is_refused(
    run_posbias: RunPosbias, small_collection: Collection, tmp_path: Path
) -> None:
    done = run_posbias("collection", "export", "small", "--to", "squad", "--out", "./out")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "wanted a collection made from SQuAD; found one made by 'a test'" in done.stderr
    done = run_posbias(
        "collection",
        "export",
        "small",
        "--to",
        "beir",
        "--set",
        "squad_version=2.0",
        "--out",
        "./out",
    )
    assert (
        "squad_version: wanted --to squad beside it; found --to beir; leave it out" in done.stderr
    )
    done = run_posbias(
        "collection", "export", "small", "--to", "beir", "--split", "dev", "--out", "./out"
    )
    assert "wanted split 'dev'; found train, test" in done.stderr
    assert not (tmp_path / "out").exists()


def test_collections_are_merged_and_sampled(
    run_posbias: RunPosbias, small_collection: Collection, tmp_path: Path
) -> None:
    merged = run_posbias(
        "collection", "merge", "A=small", "B=./small", "--workers", 2, "--out", "./both"
    )
    assert merged.returncode == 0, merged.stderr
    assert merged.stdout.startswith("both: 14 passages, 10 queries")
    shown = run_posbias("collection", "show", "both").stdout
    assert "Made by merge (collections " in shown
    drawn = run_posbias(
        "collection",
        "sample",
        "both",
        "--queries",
        2,
        "--passages",
        8,
        "--split",
        "test",
        "--seed",
        4,
        "--out",
        "./few",
        "--json",
    )
    assert drawn.returncode == 0, drawn.stderr
    rows = json.loads(drawn.stdout)["rows"]
    counts = [(row["measure"], row["value"]) for row in rows]
    assert counts[:2] == [("passages", 8), ("queries", 2)]
    for arguments, message in (
        (
            ["collection", "merge", "A=small", "--out", "./x"],
            "wanted two collections or more; found 1",
        ),
        (
            ["collection", "merge", "A=small", "small", "--out", "./x"],
            "wanted NAME=COLLECTION, as in A=msmarco B=squad; found 'small'",
        ),
        (
            ["collection", "merge", "A=small", "A=small", "--out", "./x"],
            "wanted a name of its own for each; found 'A' twice",
        ),
        (
            ["collection", "sample", "small", "--queries", 9, "--passages", 1, "--out", "./x"],
            "--passages: wanted at least ",
        ),
    ):
        done = run_posbias(*arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert message in done.stderr
    assert not (tmp_path / "x").exists()
