"""What a TripClick study needs of its collection and of the files it is given, seen before its first step: what is wrong shows at once, not after hours."""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.core.groups import Groups
from positionbias.core.run import Run, read_rankings, read_run
from positionbias.dense.approximate import check_faiss
from positionbias.evaluation.evaluate import check_run
from positionbias.models.encoder_source import MINILM, encoder_folder
from positionbias.models.tensors import FACTS
from positionbias.studies.artefacts import checkpoint_facts
from positionbias.studies.tripclick_settings import OWN_JUDGEMENTS, JudgedSplit, TripClickSettings

__all__ = ["check_study"]

_LOOKED_AT = 1_000  # groups of a given training set, queries of a given training run


def check_study(collection: Collection, settings: TripClickSettings, *, dry_run: bool = False) -> None:
    """See that splits, judgements, given runs, training sets and what models begin with are there and fit the collection.

    Of a training run the beginning is read, of a training set a sample; the rest is looked at when it is used. A dry run asks no hub.

    Raises:
        InputError, SettingError, DependencyError: the first that is missing or does not fit.
    """
    _check_splits(collection, settings)
    _check_judgements(collection, settings)
    for of in settings.others:
        if of.stored is not None:
            _check_stored(of.stored, collection, settings)
    for split, path in settings.candidates.items():
        _check_candidates(path, collection, split, whole=split not in settings.train)
    _check_beginnings(settings, dry_run=dry_run)
    if settings.index != "exact":
        check_faiss(settings.index)


def _check_splits(found: Collection, settings: TripClickSettings) -> None:
    if missing := [split for split in settings.splits if split not in found.splits]:
        raise InputError(
            f"{found.path}: wanted the splits {', '.join(settings.splits)}; found no {', '.join(missing)} (there are "
            f"{', '.join(found.splits) or 'none'}); name others by --train, --tests and --validation"
        )


def _check_judgements(found: Collection, settings: TripClickSettings) -> None:
    """Every set that is named, and of what is measured on a passage that is relevant."""
    named = [(split, of.judgements) for split in settings.train for of in settings.others]
    asked = [(test.split, test.judgements) for test in settings.tests]
    asked += [(split, name) for split, name in named if name != OWN_JUDGEMENTS]
    asked += [(split, settings.truth) for split in settings.train]
    for split, judgements in asked:
        if judgements is not None and judgements not in (names := found.qrels_names(split)):
            raise InputError(
                f"{found.path}: wanted judgements {judgements!r} of split {split!r}; found {', '.join(names) or 'one set without a name'}; "
                "name one of these in --tests, --negatives-of or --truth"
            )
    for split, name in named:
        if name == OWN_JUDGEMENTS and OWN_JUDGEMENTS in found.qrels_names(split):
            raise SettingError(
                f"--negatives-of: wanted {OWN_JUDGEMENTS!r} to mean the set of split {split!r} that has no name; found one that is called so; "
                "give that set another name"
            )
    validation = () if settings.validation is None else (("--validation", JudgedSplit(settings.validation)),)
    for flag, of in (*validation, *(("--tests", test) for test in settings.tests)):
        own = {query_id for query_id, _ in found.query_texts(of.split)}
        if not any(qrel.grade > 0 and qrel.query_id in own for qrel in found.qrels(of.split, of.judgements)):
            raise bad_input(
                found.path,
                wanted=f"{flag} {of.label} with a relevant passage for one of its queries at least",
                found="none",
                do="name another split, or other judgements of it, as SPLIT:JUDGEMENTS in --tests",
            )


def _check_stored(stored: Path, collection: Collection, settings: TripClickSettings) -> None:
    groups = Groups(stored)
    if strange := set(groups.splits) - set(settings.train):
        raise InputError(
            f"{stored}: wanted a training set of the splits {', '.join(settings.train)}; found one of {min(strange)!r}; "
            "give another, or that split by --train"
        )
    sample = groups.take(np.unique(np.linspace(0, max(0, len(groups) - 1), min(len(groups), _LOOKED_AT)).astype(np.int64)))
    unknown = {group.query_id for group in sample}
    for split in groups.splits:
        unknown.difference_update(query_id for query_id, _ in collection.query_texts(split))
    absent = collection.absent(list(dict.fromkeys(chain.from_iterable(group.passage_ids for group in sample))))
    for what, ids in (("query", sorted(unknown)), ("passage", absent)):
        if ids:
            raise bad_input(
                stored,
                wanted=f"a training set of {collection.path}",
                found=f"{what} {ids[0]!r}, which is not there",
                do="give a set that was made of this collection",
            )


def _check_candidates(path: Path, collection: Collection, split: str, *, whole: bool) -> None:
    """A run of a test or validation is read whole; that of training queries, which may be as large as a disk, at its beginning."""
    if whole:
        run = read_run(path)
    else:
        first = islice(read_rankings(path), _LOOKED_AT)
        run = Run(path.name, ((of.query_id, of.passage_ids, of.scores) for of in first))
    check_run(run, collection, split)
    if not any(query_id in run for query_id, _ in collection.query_texts(split)):
        found = "none" if whole else f"none among its first {len(run):,}"
        do = "check that --candidates names the split that the run was made for"
        raise bad_input(path, wanted=f"queries of split {split!r}", found=found, do=do)


def _check_beginnings(settings: TripClickSettings, *, dry_run: bool) -> None:
    """Encoders (one of the hub is fetched here, as its training would) and checkpoints to go on from."""
    for model in settings.models:
        if model.encoder is not None and (not dry_run or model.encoder == MINILM or Path(model.encoder).expanduser().exists()):
            encoder_folder(model.encoder)
        ours = model.start is not None and (model.start / FACTS).is_file()
        if model.start is not None and ours and (kind := checkpoint_facts(model.start)["kind"]) != model.kind:
            raise SettingError(
                f"--start: wanted a checkpoint of kind {model.kind}; found {kind} in {model.start}; give another"
            )
