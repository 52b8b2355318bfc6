"""What all commands share: quick help, one-line errors with their exit codes, one JSON object."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import click
import pytest

from positionbias import __version__
from positionbias.cli.main import COMMANDS, main, posbias
from positionbias.core.collection import Collection

from .conftest import POSBIAS, RunPosbias

HEAVY = (
    "torch",
    "transformers",
    "pyarrow",
    "matplotlib",
    "scipy",
    "statsmodels",
    "ir_measures",
    "bm25s",
    "numpy",
    "jinja2",
    "rich",
)
FIND_HEAVY = f"import sys; print([name for name in {HEAVY!r} if name in sys.modules])"


def commands() -> dict[str, click.Command]:
    """Every command and every command of a group, by the words that call it."""
    context = click.Context(posbias)
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = posbias.get_command(context, name)
        assert command is not None, name
        found[name] = command
        if isinstance(command, click.Group):
            for sub in command.list_commands(context):
                inner = command.get_command(context, sub)
                assert inner is not None, f"{name} {sub}"
                found[f"{name} {sub}"] = inner
    return found


def heavy_of(names: Iterable[str]) -> str:
    """The heavy libraries that are loaded once these commands have given their help."""
    calls = "\n".join(
        (
            f"try: main({[*name.split(), '--help']!r})\nexcept SystemExit as stop: assert "
            "stop.code == 0"
        )
        for name in names
    )
    code = f"from positionbias.cli.main import main\n{calls}\n{FIND_HEAVY}"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]


def test_no_commands_help_loads_a_heavy_library() -> None:
    assert heavy_of(commands()) == "[]"


def test_every_command_explains_itself_and_its_options() -> None:
    for name, command in commands().items():
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.opts[0]}"


def test_a_whole_number_beyond_64_bits_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = [(name, option.opts[0]) for name, command in commands().items()
        for option in command.params
               if isinstance(option.type, click.types.IntParamType)]  # fmt: skip
    assert len(options) > 100
    for name, flag in options[::4]:  # all have one type
        with pytest.raises(SystemExit) as stop:
            main([*name.split(), flag, str(2**80)])
        out, err = capsys.readouterr()
        assert (stop.value.code, out, err.count("\n")) == (2, "", 1), (name, flag)
        assert flag in err or "Missing argument" in err, (name, flag)


WITHOUT_JSON = {"completion"}
WITHOUT_SEED = {
    "leakage overlap",
    "model remedy",
    "collection attach",
    "model encode",
    "collection export",
    "collection merge",
    "import beir",
    "import irds",
    "import msmarco-qa",
    "import orcas",
    "import trec",
    "import tripclick",
    "leakage clean",
    "leakage find",
    "pool coverage",
    "collection show",
    "retrieve",
    "rerank",
    "model ensemble",
    "model teach",
    "report",
    "model vectors",
    "completion",
    "collection verify",
    "model push",
}  # they draw nothing


def test_every_command_takes_the_shared_options() -> None:
    for name, command in commands().items():
        if not isinstance(command, click.Group):
            options = {option for parameter in command.params for option in parameter.opts}
            assert ("--json" in options) == (name not in WITHOUT_JSON), name
            assert ("--seed" in options) == (name not in WITHOUT_SEED), name


def test_the_version_is_the_packages(run_posbias: RunPosbias) -> None:
    assert run_posbias("--version").stdout == f"posbias, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["collection", "show"],
            "posbias: posbias collection show: Missing argument 'COLLECTION'. (see posbias "
            "collection show --help)",
        ),
        (
            ["collection", "show", "nowhere"],
            "posbias: nowhere: wanted a collection (a folder, or a name under ",
        ),
        (
            ["import", "squad", "--test", "x"],
            "posbias: posbias import squad: Missing options --out.",
        ),
        (
            ["import", "squad", "--out", "x"],
            "posbias: --train, --test: wanted at least one file; found none; give one or both",
        ),
        (
            ["import", "squad", "--train", "none.json", "--test", "x", "--out", "x"],
            "posbias: none.json: wanted a readable file; found ",
        ),
        (
            ["import", "planted", "--out", "x", "--front-loading", "2"],
            "posbias: posbias import planted: Invalid value for '--front-loading': 2.0 is not ",
        ),
        (
            ["import", "planted", "--out", "x", "--seed", "-1"],
            "posbias: posbias import planted: Invalid value for '--seed': -1 is not in the ",
        ),
        (
            ["debias", "x", "--words", "mine"],
            "posbias: posbias debias: Invalid value for '--words': 'mine' is not one of ",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    run_posbias: RunPosbias, tmp_path: Path, posbias_home: Path, arguments: list[str], message: str
) -> None:
    done = run_posbias(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    assert list(posbias_home.iterdir()) == []


def test_a_command_without_its_words_shows_its_help(run_posbias: RunPosbias) -> None:
    done = run_posbias("import")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: posbias import [OPTIONS] COMMAND [ARGS]...\n")


def test_a_place_that_is_taken_is_kept(
    run_posbias: RunPosbias, small_collection: Collection
) -> None:
    before = small_collection.checksum
    done = run_posbias(
        "import", "planted", "--queries", 40, "--passages", 200, "--out", small_collection.path
    )
    assert done.returncode == 2
    assert "give another --out, or --overwrite to replace it" in done.stderr
    assert Collection(small_collection.path).checksum == before


def test_json_is_one_object_of_rows(run_posbias: RunPosbias, small_collection: Collection) -> None:
    calls = (
        ["collection", "show", small_collection.path],
        ["import", "planted", "--queries", 40, "--passages", 200, "--out", "p"],
    )
    for arguments in calls:
        done = run_posbias(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert list(document) == ["rows"]
        for record in document["rows"]:
            assert {"row", "study", "collection", "measure", "statistic", "value"} <= set(record)
        assert done.stdout.count("\n") == 1


def test_quiet_says_nothing_on_standard_error(run_posbias: RunPosbias) -> None:
    arguments = ["import", "planted", "--queries", 40, "--passages", 200, "--out"]
    assert "written to" in run_posbias(*arguments, "a").stderr
    quiet = run_posbias("--quiet", *arguments, "b")
    assert (quiet.returncode, quiet.stderr) == (0, "")
    assert quiet.stdout.startswith("b: 200 passages, 40 queries ")


def on_a_terminal(arguments: list[str], folder: Path) -> str:
    """What standard error, a terminal, shows while a command runs."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [*POSBIAS, *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=slave
    ) as process:
        os.close(slave)
        shown = b""
        try:
            while chunk := os.read(master, 65_536):
                shown += chunk
        except OSError:  # Linux says EIO when the other end has gone
            pass
        os.close(master)
    assert process.returncode == 0
    return shown.decode()


def test_progress_shows_on_a_terminal_and_quiet_hides_it(tmp_path: Path) -> None:
    arguments = ["import", "planted", "--queries", "40", "--passages", "200", "--out"]
    assert "/s" in on_a_terminal([*arguments, "a"], tmp_path)
    assert on_a_terminal(["-q", *arguments, "b"], tmp_path) == ""


def test_a_full_disk_under_the_output_is_one_line(small_collection: Collection) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*POSBIAS, "collection", "show", str(small_collection.path)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == (
        "posbias: wanted to read or write; found: No space left on device; check the path and "
        "the disk\n"
    )


def test_a_reader_that_has_gone_is_no_failed_check(small_collection: Collection) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*POSBIAS, "collection", "show", str(small_collection.path)],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")
