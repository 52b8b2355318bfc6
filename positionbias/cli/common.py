"""What all commands share: options, one-line errors, exit codes, results as JSON or as a table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from positionbias.cli.guard import guarded, output_place
from positionbias.cli.settings_options import Decorator, all_of, settings_options
from positionbias.core.terminal import json_line, to_person
from positionbias.models.kinds import KINDS
from positionbias.ranking.config import DEVICES, RankingConfig, pick_device

if TYPE_CHECKING:
    import torch

    from positionbias.core.shard_work import MapShards
    from positionbias.results.result import Result

__all__ = [
    "Decorator",
    "Engine",
    "Ranking",
    "all_of",
    "compute_options",
    "emit",
    "engine_options",
    "input_place",
    "json_option",
    "kind_option",
    "matching_options",
    "model_place",
    "out_option",
    "output_place",
    "overwrite_option",
    "ranking_options",
    "say",
    "seed_option",
    "stated",
    "words_option",
    "workers_option",
]


def seed_option(default: int = 1) -> Decorator:
    """``--seed``: every draw is keyed by it."""
    return click.option(
        "--seed", type=click.IntRange(min=0), default=default, show_default=True, help="Key of every random draw."
    )


def out_option(*, required: bool = True, what: str = "Where to write.") -> Decorator:
    """``--out``: a path, or a plain name under $POSBIAS_HOME."""
    return click.option("--out", required=required, metavar="PATH|NAME", help=f"{what} A plain name lands under $POSBIAS_HOME.")


json_option: Decorator = click.option("--json", "as_json", is_flag=True, help="Print the results as one JSON object.")


def overwrite_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--overwrite``: of artefacts of ours, and never of what the command reads."""
    return click.option("--overwrite", is_flag=True, help="Replace what stands at --out.")(guarded(command))


kind_option: Decorator = click.option(
    "--kind",
    type=click.Choice(["cross-encoder", "bi-encoder", "multi-vector", "sparse", *KINDS]),
    help="What the model is, where its files do not say: bi-encoder for a plain encoder, mono_t5 for a T5. [default: what its files say]",
)
workers_option: Decorator = click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processes; the output is the same for any number.",
)


@dataclass(frozen=True, slots=True)
class Engine:
    """Where shards are worked on, as ``engine_options`` hands it to a command."""

    name: str
    workers: int
    address: str | None

    def open(self) -> AbstractContextManager[MapShards]:
        """Give the engine's ``map_shards``, as ``engine.choose.open_engine``."""
        from positionbias.engine.choose import open_engine

        return open_engine(self.name, self.workers, self.address)

    @property
    def provenance(self) -> dict[str, Any]:
        """What a manifest says of it, where comparisons do not look."""
        return {"workers": self.workers, "engine": self.name}


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--workers``, ``--engine`` and ``--address``, which the command gets as one ``engine``."""

    @wraps(command)
    def with_engine(*given: Any, workers: int, engine: str, address: str | None, **named: Any) -> Any:
        return command(*given, engine=Engine(engine, workers, address), **named)

    address = click.option(
        "--address",
        metavar="HOST:PORT",
        help="The Ray cluster to use, with --engine ray; without it a Ray of this machine with --workers CPUs.",
    )
    engine = click.option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        default="local",
        show_default=True,
        help="Processes on this machine, or a Ray cluster; the output is the same.",
    )
    return workers_option(engine(address(with_engine)))


words_option: Decorator = click.option(
    "--words",
    type=click.Choice(["blingfire", "whitespace"]),
    default="blingfire",
    show_default=True,
    help="What a word is. White space never parts a word from its punctuation, and is faster.",
)


def matching_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How answers are found in passages, which the command gets as one ``matching``."""

    @wraps(command)
    def with_matching(*given: Any, words: Any, matches: Any, fold_case: bool, no_offsets: bool, **named: Any) -> Any:
        from positionbias.positions.locate import Matching

        matching = Matching(words=words, matches=matches, fold_case=fold_case, offsets=not no_offsets)
        return command(*given, matching=matching, **named)

    options = all_of(
        click.option(
            "--matches",
            type=click.Choice(["all", "first", "last"]),
            default="all",
            show_default=True,
            help="Which matches count of an answer that stands several times. Only where offsets are not used.",
        ),
        words_option,
        click.option("--fold-case", is_flag=True, help="Match without regard to case."),
        click.option("--no-offsets", is_flag=True, help="Match every answer, also where the source says where it stands."),
    )
    return options(with_matching)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Where and how a model computes, as ``ranking_options`` hands it to a command."""

    device: torch.device
    config: RankingConfig


def compute_options(*, device: str = "Where to compute; auto is the GPU where there is one.") -> Decorator:
    """``--device``, with what its help says here, ``--precision`` and ``--batch-tokens`` as they were given: no torch is imported for them."""
    return all_of(
        click.option("--device", type=click.Choice(DEVICES), default=DEVICES[0], show_default=True, help=device),
        settings_options(RankingConfig, "precision", "batch_tokens"),
    )


def ranking_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--device``, ``--precision`` and ``--batch-tokens``, which the command gets as one ``ranking``."""

    @wraps(command)
    def with_ranking(*given: Any, device: str, precision: Any, batch_tokens: int, **named: Any) -> Any:
        return command(*given, ranking=Ranking(pick_device(device), RankingConfig(batch_tokens, precision)), **named)

    return compute_options()(with_ranking)


def input_place(name: str) -> Path:
    """The path that a file to read means: as given where it exists, else a plain name under $POSBIAS_HOME."""
    from positionbias.core.publish import recover

    for place in (Path(name), output_place(name)):
        recover(place)
    return Path(name) if Path(name).exists() else output_place(name)


def model_place(name: str) -> Path | str:
    """What ``--model`` means: a folder as ``input_place`` finds it, else the name itself, which may be a hub id or ``minilm``."""
    place = input_place(name)
    return place if place.exists() else name


def stated(name: str) -> bool:
    """Whether the command that runs was given this option, rather than having it by default."""
    source = click.get_current_context().get_parameter_source(name)
    return source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


def say(text: str = "") -> None:
    """A line for a person, on standard error; silent under ``--quiet``."""
    context = click.get_current_context(silent=True)
    if context is None or not context.find_root().params.get("quiet"):
        to_person(text)


def emit(
    results: Sequence[Result], *, as_json: bool, table: Callable[[], str], beside: Mapping[str, Any] | None = None
) -> None:
    """Print results on standard output: one JSON object, in which ``beside`` stands before them, or the table."""
    if as_json:
        sys.stdout.write(json_line({**(beside or {}), "results": [result.to_json() for result in results]}))
    else:
        sys.stdout.write(f"{table()}\n")
