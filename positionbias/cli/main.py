"""``posbias``: finds each command's module when it is called, and turns errors into one line."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from positionbias import __version__
from positionbias.cli.lazy import LazyGroup
from positionbias.core.errors import PositionBiasError

__all__ = ["COMMANDS", "main", "posbias"]

# name -> (module, attribute, one line of help): a command's module is imported only when it is called,
# so that ``posbias --help`` is quick and no command pays for another's libraries.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "demo": ("positionbias.cli.demo", "demo", "The whole study in miniature, in under five minutes."),
    "import": ("positionbias.cli.imports", "import_", "Bring a data set in as a collection."),
    "export": ("positionbias.cli.export", "export", "Write a collection in a published form."),
    "merge": ("positionbias.cli.merge", "merge", "Several collections as one, for training across corpora."),
    "sample": ("positionbias.cli.sample", "sample", "A smaller collection that keeps what is judged."),
    "show": ("positionbias.cli.show", "show", "What a collection holds: its Table 1."),
    "histogram": ("positionbias.cli.histogram", "histogram", "Where answers sit in their passages."),
    "debias": ("positionbias.cli.debias", "debias", "Rotate every passage at a random word."),
    "select": ("positionbias.cli.select", "select", "Only the queries whose answers lie in one part of their passages."),
    "retrieve": ("positionbias.cli.retrieve", "retrieve", "Rank passages for each query by BM25, or by vectors."),
    "encode": ("positionbias.cli.encode", "encode", "A collection's passages as vectors, for dense retrieval."),
    "vectors": ("positionbias.cli.vectors", "vectors", "Word vectors to start TK from."),
    "encoder": ("positionbias.cli.encoder", "encoder", "A small encoder to start from, with random weights."),
    "trainset": ("positionbias.cli.trainset", "trainset", "Training sets made to order."),
    "teach": ("positionbias.cli.teach", "teach", "A teacher's scores of training passages, for distillation."),
    "train": ("positionbias.cli.train", "train", "Train a re-ranker."),
    "rerank": ("positionbias.cli.rerank", "rerank", "Re-rank candidates with a trained model."),
    "ensemble": ("positionbias.cli.ensemble", "ensemble", "Several runs as one, by z-scores or ranks."),
    "evaluate": ("positionbias.cli.evaluate", "evaluate", "Measure runs, and test their differences."),
    "ats": ("positionbias.cli.probe", "ats", "Average term similarity by distance in position."),
    "mats": ("positionbias.cli.probe", "mats", "One number for position dependence (MATS)."),
    "audit": ("positionbias.cli.audit", "audit", "Is any model, or a run, position-biased?"),
    "check": ("positionbias.cli.audit", "check", "Hold models to limits on position bias: pass, fail or cannot tell."),
    "leakage": ("positionbias.cli.leakage", "leakage", "Do training queries near-duplicate test queries?"),
    "pool": ("positionbias.cli.pool", "pool", "Can a test collection judge systems that did not help to make it?"),
    "contamination": ("positionbias.cli.contamination", "contamination", "Has a model seen the test set?"),
    "study": ("positionbias.cli.studies", "study", "A paper's study, end to end, on your collection."),
    "report": ("positionbias.cli.report", "report", "One self-contained HTML page from results."),
    "completion": ("positionbias.cli.completion", "completion", "Shell completion for bash, zsh or fish."),
}


class _ReaderGone(Exception):
    """Standard output is a pipe that nobody reads any more; click would exit 1, which here means a check did not hold."""


class _Posbias(LazyGroup):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            value = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError as error:
            raise _ReaderGone from error
        return value


@click.group(cls=_Posbias, commands_at=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
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
        # whoever keeps work for the next run has left a note
        notes = getattr(error.__cause__ or error, "__notes__", ["nothing half-written was left under a final name"])
        _complain(f"stopped; {notes[0]}")
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
