"""The name that was meant: close ones in any case, none where nothing is close."""

from pathlib import Path

import pytest

from positionbias.core.errors import closest, near_file, or_closest


@pytest.mark.parametrize(
    ("found", "meant"),
    [
        ("bert-cat", "bert_cat"),
        ("TK", "tk"),
        ("minlm", "minilm"),
        ("knmr", "knrm"),
        ("--tk", "tk"),
        ("zebra", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_the_closest_name(found, meant):
    assert closest(found, ["tk", "knrm", "bert_cat", "minilm"]) == meant


def test_without_names_nothing_is_close():
    assert or_closest("x", [], "pick one") == "pick one"


def test_a_missing_file_has_a_neighbour(tmp_path: Path):
    (tmp_path / "test.run").touch()
    assert near_file(tmp_path / "tst.run", "check it") == f"did you mean {tmp_path / 'test.run'}?"
    # it is there: something else is wrong
    assert near_file(tmp_path / "test.run", "check it") == "check it"
    assert near_file(tmp_path / "nowhere" / "tst.run", "check it") == "check it"
