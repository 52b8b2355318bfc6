"""``posbias leakage clean``: a collection without the training queries that leak."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import (
    emit,
    input_place,
    json_option,
    kind_option,
    out_option,
    output_place,
    overwrite_option,
    say,
)
from positionbias.cli.leakage.device import device_option, on_device

if TYPE_CHECKING:
    from positionbias.core.collection import Collection
    from positionbias.core.manifest import InputRef
    from positionbias.leakage.find import FoundPair
    from positionbias.leakage.leaks import Leaks
    from positionbias.leakage.pairs import Pair
    from positionbias.results.leakage_pairs import QueriesRemoved

__all__ = ["clean"]


@click.command()
@click.argument("collection")
@click.option("--against", metavar="TEST_QUERIES", help="Look for leaks of these queries, as posbias leakage find does.")
@click.option("--pairs", metavar="DIR|FILE", help="Or take these pairs: what find wrote, or a labelled sheet.")
@click.option("--split", default="train", show_default=True, help="Whose queries leak; the other splits stay as they are.")
@click.option(
    "--threshold",
    type=float,
    metavar="COSINE",
    help="The cosine from which a pair without a label counts. [default: with --against the encoder's own; with --pairs, all found by meaning]",
)
@click.option("--source", metavar="NAME", help="Of --pairs of several sources, the one that COLLECTION is.")
@click.option(
    "--detector",
    type=click.Choice(["semantic", "lexical", "both"]),
    help="With --against, what looks. [default: both]",
)
@click.option(
    "--lexical", is_flag=True, help="Remove what was found by words alone, too: candidates whose precision nobody has measured."
)
@click.option("--encoder", metavar="NAME", help="With --against, what encodes queries. [default: as posbias leakage find]")
@kind_option
@device_option
@out_option(what="The collection without them.")
@overwrite_option
@json_option
def clean(
    collection: str, against: str | None, pairs: str | None, split: str, threshold: float | None, source: str | None, detector: Any,
    lexical: bool, encoder: str | None, kind: str | None, device: str, out: str, overwrite: bool, as_json: bool,
) -> None:  # fmt: skip
    """COLLECTION without the training queries that near-duplicate test queries, their judgements and answers.

    A labelled pair counts as its label says. One without a label counts where it was found by meaning; one found by words alone is counted and
    stays, unless --lexical. Passages and other splits stay. What was removed, and why, stands in the new collection as left_out/SPLIT.jsonl.

    \b
      posbias leakage clean msmarco --against topics.txt --encoder minilm --out msmarco-clean
      posbias leakage clean msmarco --pairs reviewed.tsv --out msmarco-clean
    """  # fmt: skip
    from positionbias.core.collection import find_collection
    from positionbias.core.errors import SettingError
    from positionbias.core.publish import refuse_existing
    from positionbias.corpora.without import LeftOut, without
    from positionbias.results.leakage_pairs import TAKEN_OUT
    from positionbias.results.result import Result

    if (against is None) == (pairs is None):
        raise SettingError("leakage clean: wanted --against or --pairs; found " + ("neither" if against is None else "both"))
    for flag, given in (("--detector", detector), ("--encoder", encoder)):
        if pairs and given:
            raise SettingError(f"{flag}: wanted with --against, where pairs are looked for; found --pairs; drop one")
    if detector == "lexical" and not lexical:
        raise SettingError(
            "--detector lexical: wanted --lexical with it, as words alone find candidates of unknown precision; found none; add it, or label "
            "the pairs first (posbias leakage find and review) and give --pairs"
        )
    if against and source:
        raise SettingError("--source: wanted with --pairs of several sources; found --against; drop it")
    place, opened = output_place(out), find_collection(collection)
    refuse_existing(place, overwrite=overwrite)
    if against:
        found, settings, inputs = _look(
            opened, split, against, detector or "both", encoder, kind, threshold, device, place, lexical
        )
    else:
        found, settings, inputs = _read(pairs or "", threshold, source, place, lexical)
    why = f"Queries of split {split!r} that near-duplicate test queries were taken out; {split}.jsonl in left_out says which and why."
    settings = {"split": split, **settings}
    made = without(opened, place, LeftOut(split, found.reasons, why, "leakage clean", settings, inputs), overwrite=overwrite)
    removed = _removed(made, found)
    share = removed.left_out / removed.queries
    result = Result(TAKEN_OUT, made.name, split, "clean", None, share, None, removed.queries, removed)
    emit([result], as_json=as_json, table=lambda: _text(made.name, removed))
    say(f"written to {place}")


def _read(
    pairs: str, threshold: float | None, source: str | None, place: Path, lexical: bool
) -> tuple[Leaks, dict[str, Any], list[InputRef]]:
    """The leaks that a file of pairs names."""
    from positionbias.core.files import sha256_file
    from positionbias.core.manifest import input_ref
    from positionbias.leakage.leaks import leaks
    from positionbias.leakage.pairs import pairs_file, read_pairs

    path = pairs_file(input_place(pairs))
    found = leaks(read_pairs(path), threshold=threshold, source=source, lexical=lexical)
    settings = {"threshold": threshold, "source": source, "lexical": lexical}
    return found, settings, [input_ref("pairs", path, sha256_file(path), artefact=place)]


def _look(
    collection: Collection, split: str, against: str, detector: Any, encoder: str | None, kind: str | None, threshold: float | None,
    device: str, place: Path, lexical: bool,
) -> tuple[Leaks, dict[str, Any], list[InputRef]]:  # fmt: skip
    """The leaks that the detectors find."""
    from dataclasses import asdict

    from positionbias.cli.leakage.encoder import open_semantic, say_kept
    from positionbias.cli.leakage.find import ENCODER
    from positionbias.cli.leakage.sources import QueryPlace
    from positionbias.core.manifest import input_ref
    from positionbias.leakage.find import FindSettings, find_pairs
    from positionbias.leakage.leaks import Leaks, leaks
    from positionbias.leakage.nearest import NearestSettings
    from positionbias.leakage.queries import collection_source, field_texts

    test = QueryPlace.parse(against, "test")
    tests = field_texts(test.queries())
    inputs = [test.input_ref("test queries", place)]
    semantic = None if detector == "lexical" else open_semantic(encoder or ENCODER, kind, on_device(device), threshold)
    settings = FindSettings(detector, NearestSettings(floor=semantic.threshold if semantic else 1.0))
    source = collection_source("", collection, split)
    near = find_pairs([source], tests.texts, settings, semantic.vectors if semantic else None).pairs
    if semantic:
        checksum = semantic.model.manifest.content["checksum"]
        inputs.append(input_ref("encoder", semantic.model.path, checksum, artefact=place))
        say_kept(semantic.vectors)
        say(semantic.told)
    chosen = {"encoder": semantic.model.name if semantic else None, "lexical": lexical, **asdict(settings)}
    chosen["nearest"].pop("memory")  # it changes no pair
    return leaks(map(_as_pair, near), lexical=lexical) if near else Leaks(), chosen, inputs


def _as_pair(found: FoundPair) -> Pair:
    from positionbias.leakage.pairs import SCORES, Pair

    return Pair(
        found.train_id,
        found.test_id,
        {name: score for name in SCORES if (score := getattr(found, name)) is not None},
        found.train_text,
        {found.field: found.test_text},
        found.field,
        found_by=found.found_by,
    )


def _removed(made: Collection, found: Leaks) -> QueriesRemoved:
    """Return what was removed, from the manifest."""
    from positionbias.leakage.leaks import Cause
    from positionbias.results.leakage_pairs import QueriesRemoved

    causes = {str(cause): found.set_aside[cause] for cause in Cause}
    counts = {"test_queries_leaked": len(found.test_ids), "pairs": found.pairs, **causes}
    return QueriesRemoved.from_rows({**made.manifest.content["left_out"], **counts})


def _text(name: str, removed: QueriesRemoved) -> str:
    share = f"{removed.left_out / removed.queries:.2%}"
    lines = [f"{name}: {removed.left_out:,} of {removed.queries:,} {removed.split} queries taken out ({share})"]
    said = ("queries", "left_out", "split", "checksum")
    lines += [f"  {name.replace('_', ' ')}: {count:,}" for name, count in removed.to_rows().items() if name not in said]
    if left := removed.pairs_found_by_words_alone:
        lines.append(
            f"{left:,} pairs found by words alone stay: their precision is unknown; label them (posbias leakage review), or add --lexical"
        )
    return "\n".join(lines)
