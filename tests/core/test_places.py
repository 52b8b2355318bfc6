"""Where things are written and looked for: --out is a path; names are found in the current
directory, then under $POSBIAS_HOME.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from positionbias.core import progress
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.places import (
    home_place,
    input_place,
    output_place,
    pasted,
    refuse_inputs,
    shown_place,
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current directory of the test's own, beside its home."""
    monkeypatch.setattr(progress, "_said", set())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("out", ["squad", "runs/bm25.run", "../x", "/tmp/x", "./squad"])
def test_an_output_is_where_its_path_says(out: str) -> None:
    assert output_place(out) == Path(out)


def test_without_out_a_name_is_under_home(posbias_home: Path) -> None:
    assert home_place("squad-rotated-1") == posbias_home / "squad-rotated-1"


@pytest.mark.parametrize("name", ["squad", "squad-1.1", "sets/no-1000"])
def test_an_input_is_looked_for_here_then_under_home(
    here: Path, posbias_home: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert input_place(name) == Path(name)  # in neither
    with pytest.raises(
        InputError, match=f"--trainset: wanted a path to read; found nothing at {name}; check it"
    ):
        input_place(name, flag="--trainset")
    (posbias_home / name).mkdir(parents=True)
    assert input_place(name) == posbias_home / name
    assert input_place(here / name) == here / name
    assert capsys.readouterr().err == ""
    Path(name).mkdir(parents=True)
    assert [input_place(name), input_place(name)] == [Path(name), Path(name)]
    assert capsys.readouterr().err == (
        f"posbias: {name}: read from the current directory; there is another at "
        f"{posbias_home / name}\n"
    )


@pytest.mark.parametrize("name", ["./squad", "../squad", ".answers"])
def test_what_begins_with_a_dot_is_not_looked_for_under_home(
    here: Path, posbias_home: Path, name: str
) -> None:
    (posbias_home / name).mkdir(parents=True, exist_ok=True)
    assert input_place(name) == Path(name)


def test_no_remark_where_home_is_the_current_directory(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POSBIAS_HOME", ".")
    Path("squad").mkdir()
    assert input_place("squad") == Path("squad")
    assert capsys.readouterr().err == ""


def test_a_folder_here_that_is_no_collection_hides_none_under_home(
    here: Path, posbias_home: Path, small_collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    small_collection.path.rename(posbias_home / "squad")
    Path("squad").mkdir()  # the data set's own files, say
    assert Collection("squad").path == posbias_home / "squad"
    assert capsys.readouterr().err == ""


def test_a_place_is_shown_as_the_next_command_takes_it(here: Path, posbias_home: Path) -> None:
    (posbias_home / "squad").mkdir()
    shown = {
        "x": "x",
        here / "runs" / "a.run": "runs/a.run",
        "runs/../x": "x",
        posbias_home / "squad": "squad",
    }
    for place, wanted in shown.items():
        assert shown_place(place) == wanted
        assert input_place(wanted).resolve() == Path(place).resolve()
    Path("squad").mkdir()  # by its name it would be this one
    for place in (
        posbias_home / "squad",
        posbias_home,
        posbias_home / ".answers",
        here.parent / "y",
    ):
        assert shown_place(place) == str(place)
    assert shown_place("../y") == str(here.parent / "y")
    assert shlex.split(pasted("my runs/a.run")) == ["my runs/a.run"]


def test_either_place_that_an_input_may_mean_is_no_output(here: Path, posbias_home: Path) -> None:
    (posbias_home / "squad").mkdir()
    refuse_inputs({"--out": "squad"}, ["squad"])  # a new folder here
    for _ in range(2):
        with pytest.raises(
            SettingError,
            match=(
                "--out: wanted a place apart from what is read; found .*, which is the input squad"
            ),
        ):
            refuse_inputs({"--out": posbias_home / "squad"}, ["squad"])
        Path("squad").mkdir(exist_ok=True)
    with pytest.raises(SettingError, match="found squad, which is the input squad; give another"):
        refuse_inputs({"--out": "squad"}, ["squad"])


def test_a_tilde_that_no_shell_expanded_is_refused() -> None:
    with pytest.raises(
        InputError,
        match=(
            r"^~/kept: wanted a path; found a ~ that the shell left as it is; write \$HOME instead$"
        ),
    ):
        output_place("~/kept")
    assert output_place("~kept") == Path("~kept")


def test_an_address_is_no_output() -> None:
    with pytest.raises(InputError, match=r"^s3://bucket/key: an output is a path on this machine"):
        output_place("s3://bucket/key")


def test_a_name_like_an_option_is_pasted_as_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert pasted("-x") == "./-x"
