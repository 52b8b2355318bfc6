"""``posbias``: finds each command's module when it is called, and turns errors into one line."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from positionbias import __version__
from positionbias.core.errors import PositionBiasError

__all__ = ["COMMANDS", "LazyGroup", "main", "posbias"]

# name -> (module, attribute, one line of help): a command's module is imported only when it is called,
# so that ``posbias --help`` is quick and no command pays for another's libraries.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "demo": ("demo", "demo", "The whole study in miniature, in under five minutes."),
    "import": ("import_", "import_", "Bring a data set in as a collection."),
    "export": ("export", "export", "Write a collection in a published form."),
    "show": ("show", "show", "What a collection holds: its Table 1."),
    "histogram": ("positions", "histogram", "Where answers sit in their passages."),
    "debias": ("positions", "debias", "Rotate every passage at a random word."),
    "retrieve": ("retrieve", "retrieve", "Rank passages for each query by BM25."),
    "train": ("train", "train", "Train a re-ranker."),
    "rerank": ("rerank", "rerank", "Re-rank candidates with a trained model."),
    "evaluate": ("evaluate", "evaluate", "Measure runs, and test their differences."),
    "ats": ("probe", "ats", "Average term similarity by distance in position."),
    "mats": ("probe", "mats", "One number for position dependence (MATS)."),
    "study": ("study", "study", "A paper's study, end to end, on your collection."),
    "report": ("report", "report", "One self-contained HTML page from results."),
    "completion": ("completion", "completion", "Shell completion for bash, zsh or fish."),
}


class _ReaderGone(Exception):
    """Standard output is a pipe that nobody reads any more; click would exit 1, which here means a check did not hold."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            value = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError as error:
            raise _ReaderGone from error
        return value

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        return getattr(importlib.import_module(f"positionbias.cli.{module}"), attribute)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="posbias")
@click.option("--quiet", "-q", is_flag=True, help="No progress bars, no remarks; results and errors only.")
def posbias(quiet: bool) -> None:
    """Find, measure and remove position bias in retrieval data and in the models trained on it.

    Start with:  posbias demo
    """
    from positionbias.core.progress import set_quiet

    set_quiet(quiet)


def _complain(message: str) -> None:
    click.echo(f"posbias: {' '.join(message.split())}", err=True)


def _silence_stdout() -> None:
    """Python flushes standard output once more as it ends, and must not fail there again."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115


def main(arguments: list[str] | None = None) -> None:
    """Run one command; exit 0, 1 (a check did not hold), 2 (bad input) or 130 (Ctrl-C)."""
    try:
        code: Any = posbias.main(args=arguments, prog_name="posbias", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.UsageError as error:
        place = f"{error.ctx.command_path}: " if error.ctx else ""
        hint = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        _complain(f"{place}{error.format_message()}{hint}")
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort) as error:
        if isinstance(error.__cause__, EOFError):  # click takes it for the end of a prompt
            _complain(f"wanted a whole file; found {error.__cause__ or 'its end too early'}; fetch it again")
            sys.exit(2)
        _complain("stopped; nothing half-written was left under a final name")
        sys.exit(130)
    except PositionBiasError as error:
        _complain(str(error))
        sys.exit(error.exit_code)
    except _ReaderGone:
        _silence_stdout()
        sys.exit(141)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        _complain(f"{place}wanted to read or write; found: {error.strerror or error}; check the path and the disk")
        _silence_stdout()
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)
