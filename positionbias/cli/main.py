"""``posbias``: finds each command's module when it is called, and turns errors into one line."""

from __future__ import annotations

import io
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import click

from positionbias import __version__
from positionbias.cli.generate import JudgedExit
from positionbias.cli.groups import Commands, LazyGroup, commands_below
from positionbias.core import process
from positionbias.core.errors import PositionBiasError, message_of
from positionbias.core.progress import give_hints
from positionbias.core.terminal import PLAIN, guard_streams, to_person

INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h


COMMANDS: Commands = {
    **commands_below(),
    "completion": (
        "positionbias.cli.completion",
        "completion",
        "Print the completion script for bash, zsh or fish.",
    ),
}
LAST = [*COMMANDS].index("study") + 1  # of what most people come for
HEADINGS = {"Commands": [*COMMANDS][:LAST], "More": [*COMMANDS][LAST:]}

# The commands that answer by their exit code: 1, a check failed; 3, it could not tell. From any
# other command these are a bug.
_CHECKS = frozenset({"check"})
_VERDICTS = frozenset({1, 3})
# how torch and Arrow say so, and Python of a thread, whose stack needs addresses
_OUT_OF_MEMORY = re.compile(
    "(allocate|out of) memory|Storage size calculation overflowed|(launch worker|start new) thread"
)

_OF_PYTHON = (
    "strict",
    "surrogateescape",
    "backslashreplace",
)  # how its streams take what they cannot write, unless told otherwise


class _ReaderGone(Exception):
    """Standard output is a pipe that nobody reads any more; click would exit 1, which here means a
    failed check.
    """


class _Stopped(Exception):
    """The process was asked to stop; its cause is what the command made of that."""


class UnexpectedExit(RuntimeError):
    """Something other than a judgement ended the command with an exit code of its own."""


@contextmanager
def _past_click() -> Iterator[None]:
    """Rename what click answers with exit code 1, with words of its own, or passes on as the end of
    the process.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        raise _Stopped from error
    except Exception as error:
        if process.stopped():  # some libraries turn an interrupt into an error of theirs
            raise _Stopped from error
        if isinstance(error, BrokenPipeError):
            raise _ReaderGone from error
        raise
    except SystemExit as stop:
        raise UnexpectedExit(f"a library called sys.exit({stop.code!r})") from stop


class _Posbias(LazyGroup):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read ``posbias help COMMAND`` as ``posbias COMMAND --help``."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def make_context(self, *given: Any, **more: Any) -> click.Context:
        with _past_click():
            return super().make_context(*given, **more)

    def invoke(self, ctx: click.Context) -> None:
        """Run the command. What it returns is no exit code: only ``Exit`` is."""
        try:
            with _past_click():
                super().invoke(ctx)
        except click.exceptions.Exit as stop:
            judged = isinstance(stop, JudgedExit) or ctx.invoked_subcommand in _CHECKS
            if stop.exit_code in _VERDICTS and not judged:
                raise UnexpectedExit(
                    f"{ctx.invoked_subcommand} exited with {stop.exit_code}"
                ) from stop
            raise


_START = """\
posbias finds, measures and removes position bias in retrieval data and models.

Begin with one of these:

  posbias demo
      The whole study in miniature, in under five minutes.

  posbias import squad --train train.json --test dev.json --out mine
  posbias histogram mine
      Your own data: where its answers stand. import takes other formats too.

  posbias audit mine --model minilm
      A model: does the place of an answer change how it ranks a passage?

All commands: posbias --help.  One command: posbias COMMAND --help.
To read more: README.md, docs/start.md.
"""


@click.group(
    cls=_Posbias,
    commands_at=lambda: COMMANDS,
    headings=HEADINGS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "-V", "--version", prog_name="posbias")
@click.pass_context
def posbias(context: click.Context) -> None:
    """Find, measure and remove position bias in retrieval data and in the models trained on it.

    Start with:  posbias demo
    """
    give_hints(True)
    context.call_on_close(lambda: give_hints(False))
    if context.invoked_subcommand is None:
        click.echo(_START, nl=False)


def _show(text: str) -> None:
    # standard error may be full or closed; the exit code still tells
    with suppress(OSError, ValueError):
        to_person(text)


def _complain(message: str) -> None:
    _show(f"posbias: {' '.join(message.split())}")


def _prepare_streams() -> None:
    """Open what the caller has closed, and let no character of a name end a command or reach the
    terminal as a command to it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            # for as long as the process runs
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif mode == "w" and isinstance(stream, io.TextIOWrapper) and stream.errors in _OF_PYTHON:
            stream.reconfigure(errors=PLAIN)
    guard_streams()


def _settle_stdout() -> None:
    """Python flushes standard output once more as it ends, and must not fail there."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8", newline="\n")  # noqa: SIM115


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit with its code.

    0: done. 1: a check failed (``check`` only). 2: bad input, or a file system, network or memory
    that refused. 3: a check could not tell (``check`` only). 70: an internal error, a bug, whose
    report is in a file; or a process of Ray ended. 130: stopped by Ctrl-C. 141: nobody reads
    standard output any more. 143: stopped by SIGTERM.
    """
    try:
        code = _answer(arguments)
        process.system_default()
    except KeyboardInterrupt:  # once more, while the first was being reported
        code = process.exit_code()
    _settle_stdout()
    sys.exit(code)


def _answer(arguments: list[str] | None) -> int:
    """Run one command and return its exit code, whatever happens."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        process.raise_when_stopped()
        _prepare_streams()
        return _run(given)
    except KeyboardInterrupt:
        raise
    # some libraries' failures are no Exception: a panic in Rust code
    except BaseException as error:
        return _internal_error(error, given)


def _check_names(arguments: Sequence[str]) -> None:
    """Refuse paths that are not UTF-8: they could not stand in a manifest, nor be told."""
    here = ""
    with suppress(OSError):  # it may have been removed
        here = os.getcwd()
    for name in (*arguments, here):
        try:
            name.encode()
        except UnicodeEncodeError:
            raise PositionBiasError(
                f"{name}: wanted arguments and a working folder in UTF-8; found other bytes; "
                "rename it"
            ) from None


def _run(arguments: list[str]) -> int:
    """Run one command and return its exit code; every error that is no bug is answered here."""
    try:
        _check_names(arguments)
        code: Any = posbias.main(args=arguments, prog_name="posbias", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        _show(error.format_message())
        return 2
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        place = f"{context.command_path}: " if context else ""
        hint = f" (see {context.command_path} --help)" if context else ""
        _complain(f"{place}{error.format_message()}{hint}")
        return 2
    except (KeyboardInterrupt, click.Abort, _Stopped) as error:
        # click takes it for the end of a prompt
        if isinstance(error.__cause__, EOFError) and not process.stopped():
            _complain(
                f"wanted a whole file; found {error.__cause__ or 'its end too early'}; fetch it "
                "again"
            )
            return 2
        if process.exit_code() == 130 and sys.stderr.isatty():
            _show("")  # the terminal has written ^C
        # whoever keeps work for the next run has left a note
        notes = getattr(
            error.__cause__ or error,
            "__notes__",
            ["nothing half-written was left under a final name"],
        )
        _complain(f"stopped; {notes[0]}")
        return process.exit_code()
    except PositionBiasError as error:
        _complain(str(error))
        return error.exit_code
    except (_ReaderGone, BrokenPipeError):
        return 141
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        _complain(
            f"{place}wanted to read or write; found: {error.strerror or error}; check the path and "
            "the disk"
        )
        return 2
    except Exception as error:
        message = message_of(error)
        if not isinstance(error, MemoryError) and not _OUT_OF_MEMORY.search(message):
            raise
        first = message.splitlines()[0] if message else "none left"
        _complain(
            f"wanted more memory; found: {first}; give the command less at once (fewer --workers), "
            "or more memory"
        )
        return 2
    # click's end of answering a shell that asks for completions; commands' own are renamed above
    except SystemExit as stop:
        if not stop.code:
            return 0
        asked = os.environ.get("_POSBIAS_COMPLETE", "")
        _complain(
            f"_POSBIAS_COMPLETE: wanted SHELL_source or SHELL_complete; found {asked!r}; see "
            "posbias completion --help"
        )
        return 2
    return code if isinstance(code, int) else 0


def _internal_error(error: BaseException, arguments: Sequence[str]) -> int:
    """Say in one line that this is a bug and where its report is; where no file can be written,
    show the report.
    """
    try:
        from positionbias.cli.internal_error import describe, in_one_line, write_report

        what, report = in_one_line(error), describe(error, arguments)
        try:
            place = write_report(report)
        except Exception as refused:
            reason = in_one_line(refused.__cause__ or refused)
            _complain(
                f"internal error: {what}; this is a bug in posbias; no file for the details "
                f"({reason}); please report it with:"
            )
            _show(report)
        else:
            _complain(
                f"internal error: {what}; this is a bug in posbias; details in {place}; please "
                "report it with that file"
            )
    except Exception:  # out of memory, or a broken installation
        with suppress(Exception):
            traceback.print_exception(error)
    return INTERNAL_ERROR
