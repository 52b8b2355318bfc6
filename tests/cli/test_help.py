"""Help as people read it: headings, panels, widths, the three first commands, --quiet anywhere."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from positionbias.cli.main import COMMANDS, HEADINGS, posbias

from .conftest import RunPosbias

Contexts = dict[str, click.Context]


@pytest.fixture(scope="module")
def contexts() -> Contexts:
    """The context of every command, by the words that call it."""

    def below(context: click.Context) -> Contexts:
        found = {context.command_path: context}
        if isinstance(context.command, click.Group):
            for name in context.command.list_commands(context):
                command = context.command.get_command(context, name)
                assert command is not None
                found |= below(command.context_class(command, info_name=name, parent=context))
        return found

    return below(posbias.context_class(posbias, info_name="posbias"))


@pytest.mark.parametrize("width", [80, 100])
def test_no_line_of_help_is_wider_than_the_terminal(
    contexts: Contexts, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for name, context in contexts.items():
        for line in context.get_help().splitlines():
            # commands are as long as they are: a shell takes them from a wrapped line
            assert len(line) < width or re.match(r" +(posbias|--candidates) ", line), (
                f"{name}: {line}"
            )


def test_every_command_stands_under_one_heading_on_one_line(
    contexts: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sorted(name for names in HEADINGS.values() for name in names) == sorted(COMMANDS)
    monkeypatch.setenv("COLUMNS", "80")
    for name in (
        "posbias",
        *(f"posbias {group}" for group in ("import", "study", "pool", "leakage")),
    ):
        context = contexts[name]
        assert isinstance(context.command, click.Group)
        lines = context.get_help().splitlines()
        for command in context.command.list_commands(context):
            row = context.command.commands_at[command][2]  # type: ignore[attr-defined]
            assert any(line.strip().startswith(command) and line.endswith(row) for line in lines), (
                f"{name} {command}"
            )


def test_no_command_has_more_than_twenty_options(contexts: Contexts) -> None:
    for name, context in contexts.items():
        shown = [one for one in context.command.get_params(context) if one.opts[0][0] == "-"]
        flags = {flag for option in shown for flag in option.opts}
        assert len(shown) <= 23, name  # with --help
        assert {"--quiet", "--help"} <= flags, name


def test_posbias_alone_names_three_commands_to_begin_with(run_posbias: RunPosbias) -> None:
    done = run_posbias()
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("posbias finds, measures and removes position bias")
    assert [line.split()[1] for line in lines if line.startswith("  posbias ")] == [
        "demo",
        "import",
        "histogram",
        "audit",
    ]
    assert len(lines) < 20
    assert max(map(len, lines)) < 80


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "squad",
            "posbias: posbias: No such command 'squad'. Did you mean 'study'? (see posbias --help)",
        ),
        (
            "import squid",
            (
                "posbias: posbias import: No such command 'squid'. Did you mean 'squad'? "
                "(see posbias import --help)"
            ),
        ),
        (
            "audit x --modl y",
            (
                "posbias: posbias audit: No such option '--modl'. Did you mean '--model'? "
                "(see posbias audit --help)"
            ),
        ),
        (
            "study position-bias x --models bert-cat --out y",
            "posbias: --models: 'bert-cat' is not one of 'tk', 'bert_cat', 'bert_dot', 'knrm', "
            "'duet', 'pacrr', 'conv_knrm', 'colbert', 'mono_t5'.",
        ),
        (
            "collection verify pland",
            (
                "posbias: pland: wanted an artefact of posbias; found nothing there; did "
                "you mean planted?"
            ),
        ),
        ("evaluate tst.run --collection planted", "did you mean test.run?"),
        (
            "evaluate test.run --collection planted -m ndgc@10",
            "posbias: -m: wanted a measure; found 'ndgc@10'; did you mean nDCG@10?",
        ),
    ],
)
def test_a_typing_mistake_is_answered_with_what_was_meant(
    run_posbias: RunPosbias, on_the_shelf: Path, words: str, message: str
) -> None:
    done = run_posbias(*words.split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.rstrip("\n").endswith(message)


def test_a_command_without_settings_has_help_all_too(run_posbias: RunPosbias) -> None:
    done = run_posbias("completion", "--help-all")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Settings" not in done.stdout


def test_help_is_a_word_too(run_posbias: RunPosbias) -> None:
    asked = [run_posbias(*words) for words in (("help", "leakage", "label"), ("-V",))]
    assert asked[0].stdout == run_posbias("leakage", "label", "--help").stdout
    assert asked[1].stdout.startswith("posbias, version ")
