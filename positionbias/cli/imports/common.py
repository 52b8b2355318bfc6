"""What ``posbias import`` commands share: options, and what each ends with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import all_of, print_results, say

if TYPE_CHECKING:
    from positionbias.core.collection import Collection
    from positionbias.formats.attach import Attachment

__all__ = ["attach_option", "attachments", "report_import", "report_release", "validation_options"]

attach_option: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--attach",
    multiple=True,
    nargs=3,
    metavar="NAME QUERIES QRELS",
    help="A further split from two files: queries in TSV or as TREC topics, judgements in four columns. "
    "A name SPLIT.SET adds a further judgement set to a split. May be given again.",
)
validation_options: Callable[[Callable[..., Any]], Callable[..., Any]] = all_of(
    click.option(
        "--validation",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Queries to draw from training, and to take out of it, for validation.",
    ),
    click.option(
        "--validation-by",
        type=click.Choice(["passage", "query"]),
        default="passage",
        show_default=True,
        help="Draw queries that share a relevant passage together, so that no training query has it, or one by one.",
    ),
)


def attachments(given: tuple[tuple[str, str, str], ...]) -> list[Attachment]:
    """What ``--attach`` was given, for an import function."""
    from pathlib import Path

    from positionbias.formats.attach import Attachment

    return [Attachment(name, Path(queries), Path(qrels)) for name, queries, qrels in given]


def report_import(collection: Collection, out: str, as_json: bool) -> None:
    """Print what the new collection holds, and where it is."""
    from positionbias.text.statistics import collection_counts

    if drawn := collection.manifest.content.get("validation"):
        _say_drawn(drawn)
    print_results(collection_counts(collection), as_json=as_json)
    say(f"written to {collection.path}; look at it with: posbias show {out}")


def _say_drawn(drawn: Mapping[str, Any]) -> None:
    if drawn["by"] == "query":
        say(f"validation: {drawn['queries']:,} queries drawn one by one; other queries of their passages stay in training")
        return
    units = {"passage": "groups of queries that share passages", "article": "whole articles"}[drawn["by"]]
    short = "" if drawn["queries"] == drawn["asked"] else f" of the {drawn['asked']:,} asked for (no further one fits)"
    say(f"validation: {drawn['queries']:,} queries{short}, {drawn['units']:,} {units}; no training query has their passages")


def report_release(collection: Collection) -> None:
    """Say what of a release was missing, was not read or was left out, and what stands beside the collection."""
    from positionbias.core.manifest import read_manifest

    source = collection.manifest.content["source"]
    if source["missing"]:
        say(f"not there: {', '.join(source['missing'])}")
    for why in dict.fromkeys(source["not_read"].values()):
        say(f"not read ({why}): {', '.join(name for name, reason in source['not_read'].items() if reason == why)}")
    for split, counts in source["left_out"].items():
        told = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
        say(f"left out of {split}: {told}")
    for run in sorted((collection.path / "runs").glob("*.run")):
        counts = read_manifest(run).content
        told = f"{counts['unknown_queries']:,} queries and {counts['unknown_pairs']:,} pairs name what is not in the collection"
        more = f"; {told}" if counts["unknown_queries"] or counts["unknown_pairs"] else ""
        say(f"candidates: {run}, {counts['pairs']:,} of {counts['queries']:,} queries{more}")
    for folder in sorted((collection.path / "trainsets").glob("*")):
        counts = read_manifest(folder).content
        left_out = counts["lines"] - counts["groups"]
        say(f"training groups: {folder}, {counts['groups']:,}; {left_out:,} lines of other queries, passages or texts left out")
