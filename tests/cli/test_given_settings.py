"""Settings by --set and from a file, and the file that --print-config writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.cli.generate import OperationCommand
from positionbias.core.errors import InputError, SettingError
from positionbias.core.settings import REQUIRED, Given, Setting
from positionbias.ops.operation import Command, Parameter
from tests.cli.conftest import RunPosbias

OUT = Parameter("out", "", str, False, REQUIRED, Setting("Where to write."))
OIL = Parameter("oil", "", int, False, 3, Setting("Spoons of oil."))
THRIFT = Parameter("thrift", "", bool, False, False, Setting("Little oil.", implies={"width": 1}))
SETTINGS = (
    Parameter("width", "", int, False, 5, Setting("Of the wick.", flags=("--wick-width",))),
    Parameter("heat", "", float, False, None, Setting("Of the flame.", absent="its own", least=0)),
    Parameter("clean", "", bool, False, True, Setting("Clean the glass.")),
    Parameter("sides", "", str, True, ("left",), Setting("Lit ones.", choices=("left", "right"))),
    *(Parameter(f"spare{n}", "", str, False, "none", Setting("Spare.")) for n in range(10)),
)


def given_to(*arguments: object) -> Given:
    calls: list[Given] = []
    hidden = [Parameter(*(getattr(one, name) for name in one.__slots__)) for one in SETTINGS]
    for one in hidden:
        object.__setattr__(one, "shown", False)
    command = OperationCommand(
        "light", Command("Light it.", (OUT, OIL, THRIFT, *hidden), calls.append)
    )
    command.main(list(map(str, arguments)), standalone_mode=False)
    return calls[0] if calls else Given({})


def test_values_have_their_types_and_others_their_defaults() -> None:
    settings = ("--set", "wick_width=7", "--set", "clean=false", "--set", "sides=right")
    given = given_to("--out", "x", *settings, "--set", "sides=left")
    assert (given["width"], given["clean"], given["sides"]) == (7, False, ("right", "left"))
    assert (given["heat"], given["oil"], given["spare0"]) == (None, 3, "none")
    assert given.stated == {"out", "width", "clean", "sides"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "wick_widht=7",
            "--set, --config: wanted a setting of this command; found 'wick_widht'; did you mean "
            "wick_width?",
        ),
        ("wick_width", "--set: wanted NAME=VALUE; found 'wick_width'"),
        ("wick_width=wide", "wick_width: 'wide' is not a valid integer"),
        ("clean=perhaps", "clean: 'perhaps' is not a valid boolean"),
    ],
)
def test_other_forms_are_one_line(text: str, message: str) -> None:
    with pytest.raises(SettingError) as refused:
        given_to("--out", "x", "--set", text)
    assert str(refused.value).startswith(message)


def test_the_command_line_counts_more_than_set_and_this_more_than_the_file(tmp_path: Path) -> None:
    file = tmp_path / "lamp.toml"
    file.write_text('out = "filed"\noil = 9\nwick_width = 8\nheat = 0.5\nsides = ["right"]\n')
    given = given_to("--config", file, "--set", "wick_width=6", "--oil", 2)
    assert [given[name] for name in ("out", "oil", "width", "heat")] == ["filed", 2, 6, 0.5]
    assert given["sides"] == ("right",)
    file.write_text("thrift = true\n")
    assert given_to("--config", file, "--out", "x")["width"] == 1  # implied
    assert given_to("--config", file, "--out", "x", "--set", "wick_width=6")["width"] == 6


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("wick = 8", "wanted a setting of this command; found 'wick'"),
        ("wick_width = ", "wanted TOML"),
        ('wick_width = "wide"', "is not a valid integer"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "lamp.toml"
    file.write_text(content)
    with pytest.raises((SettingError, InputError), match=message):
        given_to("--out", "x", "--config", file)


def test_what_is_printed_reads_back_as_what_would_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--set", "clean=false", "--set", "heat=0.25", "--oil", 4, "--out", 'a "b"')
    assert not given_to(*options, "--print-config")
    file = tmp_path / "lamp.toml"
    file.write_text(capsys.readouterr().out)
    assert "# Of the flame." in file.read_text()
    assert dict(given_to("--config", file)) == dict(given_to(*options))


def test_all_missing_options_are_named_at_once(run_posbias: RunPosbias) -> None:
    done = run_posbias("collection", "place", "x")
    assert done.returncode == 2
    assert done.stderr == (
        "posbias: posbias collection place: Missing options --density, --out. (see "
        "posbias collection place "
        "--help)\n"
    )


def test_help_all_lists_the_settings_of_a_kind(run_posbias: RunPosbias) -> None:
    help, every = (run_posbias("train", "tk", flag).stdout for flag in ("--help", "--help-all"))
    assert every.startswith(help)
    listed = every.removeprefix(help)
    assert {"warmup_share=NUMBER", "feed_forward=N"} <= set(listed.split())
    assert "feed_forward" not in run_posbias("train", "bert_cat", "--help-all").stdout


def test_settings_of_a_studys_models_are_printed_too(
    run_posbias: RunPosbias, tmp_path: Path
) -> None:
    asked = (
        "study",
        "position-bias",
        "c",
        "--out",
        "s",
        "--set",
        "tk.layers=1",
        "--set",
        "heads=2",
    )
    printed = run_posbias(*asked, "--print-config").stdout
    assert printed.splitlines()[-2:] == ['tk.layers = "1"', 'heads = "2"']
    (tmp_path / "study.toml").write_text(printed)
    again = run_posbias("study", "position-bias", "c", "--config", "./study.toml", "--print-config")
    assert sorted(again.stdout.splitlines()) == sorted(printed.splitlines())


@pytest.mark.parametrize(
    "content",
    [
        "wick_width = []",
        "wick_width = [3, 4]",
        "sides = 'left'",
        "heat = 2020-01-01",
        "[heat]\na=1",
    ],
)
def test_another_shape_is_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "lamp.toml").write_text(content)
    with pytest.raises(
        SettingError, match="is not (a list|one value|a valid number)|wanted a setting"
    ):
        given_to("--out", "x", "--config", tmp_path / "lamp.toml")


def test_a_value_is_checked_and_kept_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SettingError, match="^heat: -1.0 is not in the range x>=0"):
        given_to("--out", "x", "--set", "heat=-1", "--print-config")
    assert given_to("--out", "x", "--set", "spare1= a query: ")["spare1"] == " a query: "


def test_pairs_of_values_read_back(run_posbias: RunPosbias, tmp_path: Path) -> None:
    asked = ("audit", "c", "a.run", "--rotated", "r", "b.run", "--set", "rotation=false")
    printed = run_posbias(*asked, "--print-config").stdout
    assert 'rotated = [["r", "b.run"]]' in printed
    assert "rotation = false" in printed
    (tmp_path / "audit.toml").write_text(printed)
    again = run_posbias("audit", "c", "a.run", "--config", "./audit.toml", "--print-config")
    assert again.stdout == printed


def test_a_quick_training_is_printed_as_it_would_run(run_posbias: RunPosbias) -> None:
    asked = ("train", "tk", "c", "--quick", "--set", "layers=2", "--print-config")
    printed = run_posbias(*asked).stdout
    assert "most_depth = 10" in printed
    assert "layers = 2" in printed
