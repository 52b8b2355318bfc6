"""``posbias study tripclick``: re-rankers and dense retrieval on clicks, and what better negatives gain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import all_of, input_place, out_option
from positionbias.cli.quick import quick_study_option
from positionbias.cli.settings_options import settings_options
from positionbias.cli.studies.common import Running, keys, run_options, runs_by_split, seeds_option
from positionbias.cli.studies.models import Decorator, model_options, models_of, starts_of
from positionbias.firststage.settings import Bm25Settings

if TYPE_CHECKING:
    from positionbias.studies.model_settings import ModelSettings
    from positionbias.studies.tripclick_settings import Negatives

__all__ = ["tripclick"]

_split_options: Decorator = all_of(
    click.option(
        "--tests",
        multiple=True,
        required=True,
        metavar="SPLIT[:JUDGEMENTS]",
        help="A test split, with one of its named sets of judgements, as head_test:dctr; may be given again.",
    ),
    click.option(
        "--train",
        multiple=True,
        default=("train",),
        show_default=True,
        metavar="SPLIT",
        help="Training queries; may be given again.",
    ),
    click.option(
        "--validation", metavar="SPLIT", help="Held-out queries, to stop trainings early. [default: none, all epochs or steps]"
    ),
    click.option(
        "--relevant-from", type=int, default=1, show_default=True, help="Grade from which a training passage is relevant."
    ),
    click.option(
        "--test-relevant-from",
        type=int,
        default=1,
        show_default=True,
        help="Grade from which a test passage is relevant, in RR and R.",
    ),
)
_set_options: Decorator = all_of(
    click.option(
        "--negatives", type=int, default=20, show_default=True, help="At most so many for each query and clicked passage."
    ),
    click.option(
        "--negatives-of",
        multiple=True,
        metavar="NAME=JUDGEMENTS",
        help="A further training set: negatives are what a set of the training splits' judgements has at grade 0, or with NAME=own their own "
        "set, as it is in TripClick; may be given again.",
    ),
    click.option(
        "--trainset",
        "trainsets",
        multiple=True,
        metavar="NAME=DIR",
        help="A further training set, as it is (posbias trainset); may be given again.",
    ),
    click.option(
        "--compared",
        multiple=True,
        metavar="MODEL",
        help="A model to train on the further sets too; may be given again. [default: every re-ranker]",
    ),
    click.option("--truth", metavar="JUDGEMENTS", help="A complete set of the training splits: counts false negatives by it."),
    click.option("--cleaned", is_flag=True, help="With --truth: also train on each further set without its false negatives."),
)
_measuring_options: Decorator = all_of(
    seeds_option,
    click.option("--epochs", type=int, help="Passes over the triples, at most. [default: as many as --max-steps takes]"),
    click.option(
        "--ensemble",
        multiple=True,
        metavar="MODEL",
        help="A re-ranker of the ensemble; may be given again. [default: every bert_cat, where there are two]",
    ),
    click.option("--depth", type=int, default=200, show_default=True, help="Candidates that are re-ranked for the tables."),
    click.option(
        "--depths",
        multiple=True,
        type=int,
        default=(5, 10, 20, 50, 100, 200, 500, 1000),
        show_default=True,
        help="Re-ranking depths of the curve, to --retrieval-depth at most; may be given again.",
    ),
    click.option(
        "--curve-tests",
        multiple=True,
        metavar="SPLIT",
        help="Test splits that are re-ranked to every depth; may be given again. [default: the first]",
    ),
    click.option(
        "--retrieval-depth",
        type=int,
        default=1000,
        show_default=True,
        help="Passages a test query, of BM25 and of dense retrieval.",
    ),
    click.option(
        "--train-depth", type=int, default=1000, show_default=True, help="BM25 candidates a training query, to draw from."
    ),
    click.option(
        "--index",
        type=click.Choice(["exact", "hnsw", "ivf"]),
        default="exact",
        show_default=True,
        help="How nearest passages are found in dense retrieval.",
    ),
    settings_options(Bm25Settings),
    click.option(
        "--candidates", multiple=True, metavar="SPLIT=RUN", help="A run to take instead of BM25's; may be given again."
    ),
)


@click.command(context_settings={"default_map": {"models": ("bert_cat", "bert_dot")}})
@click.argument("collection")
@_split_options
@out_option(what="The study, a folder.")
@model_options
@_set_options
@_measuring_options
@quick_study_option(
    "20 candidates are re-ranked, 100 retrieved, and the curve ends at 20",
    depth=20,
    depths=(5, 10, 20),
    retrieval_depth=100,
    train_depth=100,
)
@run_options
def tripclick(
    collection: str,
    running: Running,
    seed: int,
    seeds: tuple[int, ...],
    **given: Any,
) -> None:
    """How well do re-rankers and dense retrieval do on COLLECTION's clicks, and what do better negatives gain?

    Trains each of --models (KIND, or KIND=ENCODER for several encoders) with BM25's negatives, re-ranks BM25's candidates of every test, puts
    the BERT_CATs together, and retrieves with bert_dot. With --negatives-of or --trainset models are trained on other negatives too.

    \b
      posbias study tripclick tripclick --tests head_validation:dctr --tests torso_validation --tests tail_validation \\
        --models bert_cat=allenai/scibert_scivocab_uncased --models bert_dot=allenai/scibert_scivocab_uncased \\
        --negatives-of original=own --out trip
      posbias import planted --answers-each 4 --out clicks
      posbias study tripclick clicks --tests test:true --models tk --negatives-of original=passed-over --truth true --cleaned --out bad
    """  # fmt: skip
    from positionbias.core.collection import find_collection
    from positionbias.studies.tripclick import tripclick as run_study
    from positionbias.studies.tripclick_settings import JudgedSplit, TripClickSettings

    named: dict[str, Any] = {
        "tests": tuple(map(JudgedSplit.read, given.pop("tests"))),
        "others": _other_sets(given.pop("negatives_of"), given.pop("trainsets")),
        "bm25": Bm25Settings(given.pop("k1"), given.pop("b")),
        "candidates": runs_by_split(given.pop("candidates")),
    }
    own = {name: given.pop(name) for name in TripClickSettings.__dataclass_fields__ if name in given and name != "models"}
    repeated = keys(seeds, seed, quick=given["quick"])
    models = _models(given, depth=own["depth"])
    found = find_collection(collection)
    settings = TripClickSettings(models=models, seeds=repeated, seed=seed, **named, **own)
    running.run(lambda shop: run_study(found, settings, shop), found.name)


def _models(given: dict[str, Any], *, depth: int) -> tuple[ModelSettings, ...]:
    """The models of ``--models KIND[=ENCODER]``, each with what it begins with."""
    from positionbias.core.errors import SettingError
    from positionbias.models.kinds import KINDS, begins_with
    from positionbias.studies.model_settings import with_assignments
    from positionbias.studies.tripclick_settings import DECIDED

    asked = [text.partition("=") for text in given["models"]]
    kinds = [kind for kind, _, _ in asked]
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise SettingError(
            f"--models: wanted some of {', '.join(KINDS)}, or KIND=ENCODER; found {unknown[0]!r}; give one of these"
        )
    starts = starts_of(given["starts"], kinds)
    used: dict[str, set[str | None]] = {"--encoder": set(), "--word-vectors": set(), "--start": set()}
    models: list[ModelSettings] = []
    for kind, equals, own in asked:
        beginning = begins_with(kind)
        if equals and (beginning != "encoder" or not own):
            raise SettingError(f"--models: wanted KIND=ENCODER of a model over an encoder; found {kind}={own}; write it so")
        started = kind in starts and not own
        if beginning == "encoder" and not (own or started or given["encoder"]):
            wanted = f"what {kind} begins with ({kind}=ENCODER, --encoder or --start {kind}=CHECKPOINT)"
            raise SettingError(f"--models: wanted {wanted}; found none; give one of these")
        begun: dict[str, Any] = {
            "models": (kind,),
            "encoder": (own or given["encoder"]) if beginning == "encoder" and not started else None,
            "word_vectors": given["word_vectors"] if beginning == "words" else None,
            "starts": (f"{kind}={starts[kind]}",) if started else (),
            "assignments": (),
        }
        used["--encoder"].add(None if own else begun["encoder"])
        used["--word-vectors"].add(begun["word_vectors"])
        used["--start"].add(kind if started else None)
        models += models_of({**given, **begun}, depth=depth)
    for flag, value in (("--encoder", given["encoder"]), ("--word-vectors", given["word_vectors"])):
        if value and value not in used[flag]:
            raise SettingError(f"{flag}: wanted a model that it is for; found {', '.join(given['models'])}; leave it out")
    if idle := next((kind for kind in starts if kind not in used["--start"]), None):
        raise SettingError(f"--start: wanted a model without an encoder of its own; found {idle}=ENCODER; give one of the two")
    return with_assignments(models, given["assignments"], decided=DECIDED)


def _other_sets(judged: Sequence[str], stored: Sequence[str]) -> tuple[Negatives, ...]:
    """The training sets of ``--negatives-of`` and ``--trainset``."""
    from positionbias.core.errors import SettingError
    from positionbias.studies.tripclick_settings import Negatives

    found = []
    for flag, form, texts in (("--negatives-of", "NAME=JUDGEMENTS", judged), ("--trainset", "NAME=DIR", stored)):
        for text in texts:
            name, equals, value = text.partition("=")
            if not equals or not name or not value:
                raise SettingError(f"{flag}: wanted {form}; found {text!r}; write it so")
            found.append(Negatives(name, value) if flag == "--negatives-of" else Negatives(name, stored=input_place(value)))
    return tuple(found)
