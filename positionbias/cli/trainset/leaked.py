"""``posbias trainset leaked``: training sets of which a known number of queries leak test queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import (
    all_of,
    emit,
    input_place,
    json_option,
    out_option,
    output_place,
    overwrite_option,
    say,
    seed_option,
)
from positionbias.cli.leakage.material import Drawn, material_options

if TYPE_CHECKING:
    from positionbias.leakage.trainsets import LeakedSettings
    from positionbias.results.result import Result

__all__ = ["leaked"]

_what = all_of(
    click.argument("collection"),
    click.option(
        "--target", "targets", multiple=True, required=True, metavar="SPLIT", help="Test queries; may be given again."
    ),
    click.option(
        "--source",
        "sources",
        multiple=True,
        metavar="SPLIT",
        help="Training queries; may be given again, and the filling is balanced over them. [default: train]",
    ),
    click.option(
        "--candidates",
        multiple=True,
        required=True,
        metavar="[SPLIT=]RUN",
        help="BM25 candidates of a source's queries, from which negatives are drawn; one for each source.",
    ),
)
_how = all_of(
    click.option(
        "--kind",
        "kinds",
        multiple=True,
        type=click.Choice(["no", "msm", "test"]),
        help="No leakage; training queries that leak; the test queries themselves. May be given again. [default: all three]",
    ),
    click.option(
        "--size",
        "sizes",
        multiple=True,
        type=int,
        metavar="INSTANCES",
        help="Two instances a query. May be given again. [default: 1000, doubling to 128000]",
    ),
    click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True, help="How many seeds, from --seed on."),
    seed_option(),
    click.option("--leaked-share", type=float, metavar="0..1", help="Or the share of each size that leaks."),
    out_option(what="A folder of sets, one for each kind, size and seed."),
    overwrite_option,
    json_option,
)


@click.command()
@_what
@material_options
@_how
def leaked(
    collection: str, drawn: Drawn, targets: tuple[str, ...], sources: tuple[str, ...], candidates: tuple[str, ...],
    kinds: tuple[Any, ...], sizes: tuple[int, ...], seeds: int, seed: int, leaked_share: float | None,
    out: str, overwrite: bool, as_json: bool,
) -> None:  # fmt: skip
    """Training sets from COLLECTION: some queries that leak, the same number whatever the size, and others that do not.

    A query comes with a relevant passage and another one: two instances. Kinds of one size and seed share all but the queries that leak, and a
    smaller set is the beginning of a larger one. Where source and target are two corpora, join them first; their splits stay apart:

    \b
      posbias merge msm=msmarco robust=robust04 --apart --out both
      posbias leakage find both:msm.train both:robust.test --encoder minilm --out leaks
      posbias retrieve both --split msm.train --out msm.run
      posbias trainset leaked both --target robust.test --source msm.train --candidates msm.run --pairs leaks --out sets
      posbias train tk both --trainset sets/msm-1000-1 --validation-candidates RUN --out tk.ckpt
    """  # fmt: skip
    from positionbias.core.collection import find_collection
    from positionbias.leakage.write_trainsets import LeakedInputs, write_leaked_sets

    place = output_place(out)
    inputs = LeakedInputs(
        collection=find_collection(collection),
        targets=targets,
        candidates=_runs(sources or ("train",), candidates),
        pairs=drawn.pairs,
        prefixes=drawn.prefixes,
        settings=drawn.settings,
    )
    wanted = _sets(kinds, sizes, range(seed, seed + seeds), drawn.leaked_queries, leaked_share)
    results = write_leaked_sets(place, inputs, wanted, overwrite=overwrite)
    emit(results, as_json=as_json, table=lambda: _text(results))
    say(
        f"{len(results):,} training sets written to {place}; next: posbias train tk {collection} --trainset {place / results[0].system}"
    )


def _sets(
    kinds: tuple[Any, ...], sizes: tuple[int, ...], seeds: Sequence[int], number: int | None, share: float | None
) -> list[LeakedSettings]:
    from positionbias.leakage.trainsets import KINDS, SIZES, LeakedSettings

    return [
        LeakedSettings(kind, size, seed, number, share) for kind in kinds or KINDS for size in sizes or SIZES for seed in seeds
    ]


def _runs(sources: tuple[str, ...], given: tuple[str, ...]) -> dict[str, Path]:
    """The run of each source, by its name, or without a name where there is one source."""
    from positionbias.core.errors import SettingError

    if len(set(sources)) != len(sources):
        raise SettingError(f"--source: wanted each split once; found {', '.join(sources)}; drop one")
    runs: dict[str, Path] = {}
    for text in given:
        split, named, place = text.partition("=")
        if not named or split not in sources:
            if len(sources) > 1 or (named and not input_place(text).exists()):
                raise SettingError(
                    f"--candidates: wanted SPLIT=RUN with one of the sources, {', '.join(sources)}; found {text!r}; name its split"
                )
            split, place = sources[0], text
        if split in runs:
            raise SettingError(f"--candidates: wanted one run for each source; found two for {split!r}; drop one")
        runs[split] = input_place(place)
    if missing := [split for split in sources if split not in runs]:
        raise SettingError(
            f"--candidates: wanted a run for each source; found none for {missing[0]!r}; add --candidates {missing[0]}=RUN"
        )
    return {split: runs[split] for split in sources}


def _text(results: Sequence[Result]) -> str:
    """A line a set, and what all have been drawn from."""
    from positionbias.report.collection_text import aligned
    from positionbias.results.leakage import DrawnSet
    from positionbias.results.select import of_type

    found = of_type(results, DrawnSet)
    lines = [("set", "instances", "leaked", "share", "queries that fill up")]
    lines += [
        (result.system, f"{of.instances:,}", f"{of.leaked:,}", f"{of.leaked_share:.1%}", _by_split(of.filled_from))
        for result, of in found
    ]
    told = [aligned(lines, left=1), ""]
    first = found[0][1]
    for split, counts in first.sources.items():
        told.append(f"{split}: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()))
    told.append("pairs: " + ", ".join(f"{count:,} {name}" for name, count in first.of_pairs.items()))
    for name, count in first.missing.items():
        if count:
            told.append(f"missing from the corpus: {count:,} {name}")
    return "\n".join(told)


def _by_split(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} of {split}" for split, count in counts.items())
