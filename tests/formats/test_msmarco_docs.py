"""MS MARCO documents: fields, splits, TREC runs of any size, faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import read_manifest
from positionbias.core.records import Passage
from positionbias.core.run import Run
from positionbias.formats.attach import Attachment
from positionbias.formats.msmarco_docs import import_msmarco_docs
from positionbias.formats.release_settings import MsmarcoDocsSettings
from positionbias.formats.validation_draw import ValidationDraw

from .msmarco_files import write_files, write_tar

RELEASE = {
    "msmarco-docs.tsv.gz": (
        "D1\thttp://a/\tLamp\tIt burns oil.\tGreen oil.\nD2\thttp://b/\t\tNo title.\n"
        "D3\thttp://c/\tNo body\t\n"
    ),
    "msmarco-doctrain-queries.tsv.gz": "1\twhat burns\n2\tunjudged\n3\tno title\n",
    "msmarco-doctrain-qrels.tsv": "1 0 D1 1\n3 0 D2 1\n",
    "msmarco-docdev-queries.tsv": "5\tgreen\n",
    "msmarco-docdev-qrels.tsv": "5 0 D1 1\n",
    "docleaderboard-queries.tsv": "9\twithheld\n",
    "msmarco-docdev-top100.gz": "5 Q0 D2 1 -5.5 Indri\n5 Q0 D1 2 -5.5 Indri\n6 Q0 D3 1 -1 Indri\n",
}


def test_the_release_as_published(tmp_path: Path) -> None:
    made = import_msmarco_docs([write_files(tmp_path / "in", RELEASE)], tmp_path / "out")
    assert list(made.passages()) == [
        Passage("D1", "http://a/ Lamp It burns oil.\tGreen oil."),  # a tab in the body is text
        Passage("D2", "http://b/ No title."),  # an empty field leaves no space
        Passage("D3", "http://c/ No body"),
    ]
    assert {split: [query.query_id for query in made.queries(split)] for split in made.splits} == {
        "train": ["1", "3"],
        "test": ["5"],
        "eval": ["9"],
    }
    source = made.manifest.content["source"]
    assert source["left_out"] == {"train": {"unjudged_queries": 1}}
    assert source["missing"] == ["msmarco-doctrain-top100"]
    run = Run.from_file(tmp_path / "out" / "runs" / "msmarco-docdev-top100.run")
    # equal scores go to the higher id, as trec_eval orders them
    assert {query_id: run[query_id].passage_ids for query_id in run} == {
        "5": ["D2", "D1"],
        "6": ["D3"],
    }
    assert (
        read_manifest(tmp_path / "out" / "runs" / "msmarco-docdev-top100.run", kind="run").content[
            "pairs"
        ]
        == 3
    )


@pytest.mark.parametrize(
    ("fields", "texts"),
    [
        (("body",), ["It burns oil.\tGreen oil.", "No title.", ""]),
        (("title", "body"), ["Lamp It burns oil.\tGreen oil.", "No title.", "No body"]),
        (("body", "title"), ["It burns oil.\tGreen oil. Lamp", "No title.", "No body"]),
    ],
)
def test_fields_make_the_text(tmp_path: Path, fields: tuple[str, ...], texts: list[str]) -> None:
    archive = write_tar(tmp_path / "docs.tar.gz", RELEASE)
    made = import_msmarco_docs(
        [archive], tmp_path / "out", fields=fields, release=MsmarcoDocsSettings(skip=["top100"])
    )
    assert [passage.text for passage in made.passages()] == texts
    assert made.manifest.settings["fields"] == list(fields)
    assert not (tmp_path / "out" / "runs").exists()


def test_validation_and_attached_topics(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "in", RELEASE)
    write_files(
        folder, {"msmarco-test2019-queries.tsv": "7\tgraded\n", "2019qrels-docs.txt": "7 Q0 D1 3\n"}
    )
    dl19 = Attachment(
        "dl19", folder / "msmarco-test2019-queries.tsv", folder / "2019qrels-docs.txt"
    )
    made = import_msmarco_docs(
        [folder],
        tmp_path / "out",
        release=MsmarcoDocsSettings(attach=[dl19], validation=ValidationDraw(1)),
    )
    assert made.splits == ["train", "validation", "test", "eval", "dl19"]
    assert (len(made.queries("train")), len(made.queries("validation"))) == (1, 1)
    assert made.manifest.content["source"]["not_read"] == {}


@pytest.mark.parametrize("fields", [(), ("url", "url"), ("title", "text")])
def test_fields_that_cannot_be(tmp_path: Path, fields: tuple[str, ...]) -> None:
    with pytest.raises(SettingError, match="--fields: wanted some of url, title, body, each once"):
        import_msmarco_docs([tmp_path], tmp_path / "out", fields=fields)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "msmarco-docs.tsv",
            "D1\ta\tb\tc\nD2\ta\tb\n",
            r"msmarco-docs.tsv:2: wanted a document: .*; found 3 columns",
        ),
        (
            "msmarco-docs.tsv",
            "\ta\tb\tc\n",
            r"msmarco-docs.tsv:1: wanted a document: .*; found an empty id",
        ),
        (
            "msmarco-docdev-top100",
            "5 Q0 D1 1 2\n",
            r"top100:1: wanted six columns: .*; found 5 columns",
        ),
        (
            "msmarco-docdev-top100",
            "5 Q0 D1 1 high x\n",
            r"top100:1: wanted a finite score; found 'high'",
        ),
        (
            "msmarco-docdev-top100",
            "5 Q0 D1 1 1e39 x\n",
            r"top100:1: wanted a finite score; found '1e39'",
        ),
        (
            "msmarco-docdev-top100",
            "5 Q0 D1 1 1 x\n6 Q0 D1 1 1 x\n5 Q0 D2 1 1 x\n",
            r"top100: wanted a query's lines together",
        ),
        (
            "msmarco-docdev-top100",
            "5 Q0 D1 1 2 x\n5 Q0 D1 2 1 x\n",
            r"top100: wanted each passage once a query; found 'D1' twice",
        ),
    ],
)
def test_faults_are_one_line_and_leave_nothing(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    folder = write_files(tmp_path / "in", {name: content})
    with pytest.raises(InputError, match=message):
        import_msmarco_docs([folder], tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
