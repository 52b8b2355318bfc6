"""Settings of the TripClick study (test sets, models, training sets, depths), and its command."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple

from positionbias.core.closest import or_closest
from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.core.places import input_place
from positionbias.core.settings import (
    Panel,
    check_once,
    check_settings,
    declared_setting,
    required_setting,
    seed_setting,
    setting,
)
from positionbias.experiments.model_options import CANDIDATES, SEEDS
from positionbias.experiments.model_settings import ModelSettings
from positionbias.firststage.settings import Bm25Settings
from positionbias.papers import StudyCommand
from positionbias.papers.tripclick import CLEANED, REGENERATED
from positionbias.training.config import TrainConfig, refuse_validating

__all__ = [
    "COMMAND",
    "DEPTHS",
    "OWN_JUDGEMENTS",
    "JudgedSplit",
    "Negatives",
    "Ranker",
    "StoredSet",
    "TripClickSettings",
]

DENSE = "bert_dot"  # kinds that retrieve; all others re-rank
DEPTHS = (5, 10, 20, 50, 100, 200, 500, 1000)
IN_ENSEMBLE = "bert_cat"
OWN_JUDGEMENTS = "own"  # the name of a split's own, unnamed set of judgements


class JudgedSplit(NamedTuple):
    """A split with one of its sets of judgements (None: its own)."""

    split: str
    judgements: str | None = None

    @property
    def label(self) -> str:
        """The name in results and in the collection's files."""
        return self.split if self.judgements is None else f"{self.split}.{self.judgements}"

    @staticmethod
    def parse(text: str) -> JudgedSplit:
        """Read ``SPLIT`` or ``SPLIT:JUDGEMENTS``.

        Raises:
            SettingError: another form.
        """
        split, colon, judgements = text.partition(":")
        if not split or (colon and not judgements):
            raise _wrong("--test-split", "SPLIT or SPLIT:JUDGEMENTS", repr(text), "write it so")
        return JudgedSplit(split, judgements or None)


class Negatives(NamedTuple):
    """A training set by the source of its negatives: ``judgements``, the passages of grade 0 in
    this set of the training splits ("own": the set without a name), a ``stored`` training set, or
    else BM25's candidates. ``cleaned``: without negatives that are relevant in truth."""

    name: str
    judgements: str | None = None
    stored: Path | None = None
    cleaned: bool = False

    @classmethod
    def parse(cls, text: str) -> Negatives:
        """Read ``NAME=JUDGEMENTS``.

        Raises:
            SettingError: another form.
        """
        return cls(*_named("--negatives-of", "NAME=JUDGEMENTS", text))


class StoredSet(Negatives):
    """An existing training set."""

    @classmethod
    def parse(cls, text: str) -> Negatives:
        """Read ``NAME=DIR``.

        Raises:
            SettingError: another form.
        """
        name, place = _named("--trainset", "NAME=DIR", text)
        return cls(name, stored=input_place(place))


class Ranker(NamedTuple):
    """A named model of the study; the name is its kind, perhaps with its start."""

    name: str
    model: ModelSettings

    @property
    def dense(self) -> bool:
        """True if it retrieves."""
        return self.model.kind == DENSE

    def stem(self, of: Negatives) -> str:
        """Return the file name of its training on a set, without the seed."""
        own = re.sub(r"[^\w.-]+", "-", self.name).strip("-")
        return f"{own}-{of.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TripClickSettings:
    """Settings of the study; their help explains empty ``compared``, ``ensemble`` and
    ``curve_tests``.

    Models are trained on triples with BM25's negatives, and the models ``compared`` also on every
    other set. ``depths`` beyond ``retrieval_depth`` are left out. A validation re-ranks to
    ``depth``, like the tests, so that weights are chosen at the depth at which they are used.
    """

    PANEL = Panel.ADVANCED

    tests: tuple[JudgedSplit, ...] = required_setting(
        "A test split, with one of its named sets of judgements, as head_test:dctr; may be given "
        "again.",
        flags=("--test-split",),
        metavar="SPLIT[:JUDGEMENTS]",
        panel=Panel.BASIC,
    )
    models: tuple[ModelSettings, ...]
    sources: tuple[str, ...] = setting(
        ("train",),
        "Training queries; may be given again.",
        flags=("--source",),
        metavar="SPLIT",
        panel=Panel.BASIC,
    )
    validation: str | None = setting(
        None,
        "Queries to validate on, so that trainings stop early.",
        flags=("--validation-split",),
        metavar="SPLIT",
        absent="none, all epochs or steps",
        panel=Panel.BASIC,
    )
    negatives_of: tuple[Negatives, ...] = setting(
        (),
        "A further training set, whose negatives are the passages of grade 0 in a set of the "
        "training splits' judgements, or with NAME=own in their own set, as in TripClick; may be "
        "given again.",
        metavar="NAME=JUDGEMENTS",
        panel=Panel.BASIC,
    )
    trainsets: tuple[StoredSet, ...] = setting(
        (),
        "A further training set, as it is (posbias trainset); may be given again.",
        metavar="NAME=DIR",
        flags=("--trainset",),
        panel=Panel.BASIC,
    )
    compared: tuple[str, ...] = setting(
        (),
        "A model to train on the further sets too; may be given again. [default: every re-ranker]",
        metavar="MODEL",
        panel=Panel.BASIC,
    )
    ensemble: tuple[str, ...] = setting(
        (),
        "A re-ranker of the ensemble; may be given again. [default: every bert_cat, where there "
        "are two]",
        metavar="MODEL",
    )
    complete_qrels: str | None = setting(
        None,
        "A complete set of judgements of the training splits, by which to count false negatives.",
        metavar="JUDGEMENTS",
    )
    cleaned: bool = setting(
        False, "With --complete-qrels: also train on each further set without its false negatives."
    )
    negatives: int = setting(20, "Most negatives per query and clicked passage.", least=1)
    train_depth: int = setting(
        1000, "BM25 candidates per training query, from which negatives are drawn.", least=1
    )
    depth: int = setting(200, "Candidates to re-rank for the tables.", least=1)
    depths: tuple[int, ...] = setting(
        DEPTHS, "Re-ranking depths of the curve, to --retrieval-depth at most; may be given again."
    )
    curve_tests: tuple[str, ...] = setting(
        (),
        "Test splits to re-rank to every depth; may be given again. [default: the first]",
        flags=("--curve-split",),
        metavar="SPLIT",
    )
    retrieval_depth: int = setting(
        1000, "Passages per test query, for BM25 and dense retrieval.", least=1
    )
    index: Literal["exact", "hnsw", "ivf"] = setting("exact", "Index of dense retrieval.")
    relevant_from: int = setting(
        1, "Grade from which a training passage is relevant.", least=1, metavar="GRADE"
    )
    test_relevant_from: int = setting(
        1, "Grade from which a test passage is relevant, in RR and R.", least=1, metavar="GRADE"
    )
    seeds: tuple[int, ...] = declared_setting((1,), SEEDS)
    candidates: Mapping[str, Path] = declared_setting({}, CANDIDATES)
    bm25: Bm25Settings = field(default_factory=Bm25Settings)
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        check_settings(self)
        if self.validation is None:
            refuse_validating("no --validation-split")
        bound = (
            f"at most --retrieval-depth ({self.retrieval_depth}), the number of BM25's candidates"
        )
        if self.depth > self.retrieval_depth:
            raise _wrong("--depth", bound, self.depth, "change one")
        if given := next(
            (m.training.group_size for m in self.models if m.training.group_size != 2), None
        ):
            raise _wrong(
                "--group-size", "2, as models are trained on triples", given, "leave it out"
            )
        check_once({"--test-split": [test.label for test in self.tests], "--seeds": self.seeds})
        check_once({"--source": self.sources, "--depths": self.depths})
        if min(self.depths) < 1:
            raise _wrong("--depths", "depths from 1", min(self.depths), "raise it")
        # the defaults that exist
        if self.depths != DEPTHS and max(self.depths) > self.retrieval_depth:
            raise _wrong("--depths", bound, max(self.depths), "change one")
        self._check_splits()
        self._check_sets()
        self._check_models()
        within = tuple(depth for depth in sorted(self.depths) if depth <= self.retrieval_depth)
        object.__setattr__(self, "depths", within)
        object.__setattr__(self, "curve_tests", self.curve_tests or (self.tests[0].split,))
        # without validation no depth is tried, and trainings have no such setting
        least, most = (
            (1, TrainConfig().most_depth) if self.validation is None else (self.depth, self.depth)
        )
        ways = [
            replace(m.training, least_depth=least, most_depth=most, probe_passages=0)
            for m in self.models
        ]
        trained = (
            replace(model, training=way) for model, way in zip(self.models, ways, strict=True)
        )
        object.__setattr__(self, "models", tuple(trained))

    def _check_splits(self) -> None:
        tested = {test.split for test in self.tests}
        if both := tested.intersection(self.sources):
            raise _wrong(
                "--source, --test-split", "different splits", f"{min(both)!r} as both", "change one"
            )
        if self.validation in {*tested, *self.sources}:
            wanted = "a split beside those of --source and --test-split"
            raise _wrong("--validation-split", wanted, repr(self.validation), "give another")
        _check_known("--curve-split", "splits of --test-split", self.curve_tests, sorted(tested))
        _check_known("--candidates", "splits of the study", self.candidates, self.splits)

    def _check_sets(self) -> None:
        flag, names = "--negatives-of, --trainset", [of.name for of in self.others]
        if twice := _twice([REGENERATED, *names]):
            raise _wrong(
                flag, f"each name once, and none of them {REGENERATED!r}", repr(twice), "rename it"
            )
        for name in names:
            if not re.fullmatch(r"[\w-]+", name) or name.endswith(CLEANED):
                raise _wrong(flag, "a name of letters, digits, - and _", repr(name), "give another")
        if self.cleaned and not (self.complete_qrels and self.others):
            wanted = (
                "--complete-qrels and another training set (--negatives-of or --trainset) beside it"
            )
            raise _wrong(
                "--cleaned", wanted, "no set" if self.complete_qrels else "none", "give both"
            )

    def _check_models(self) -> None:
        """Check that all compared and combined models are in the study."""
        every = [ranker.name for ranker in self.rankers]
        if twice := _twice(every):
            found, do = f"{twice!r} twice", "drop one, or give it another encoder"
            raise _wrong("--models", "each model once", found, do)
        if self.index != "exact" and not any(ranker.dense for ranker in self.rankers):
            raise _wrong(
                "--index",
                f"a model that retrieves ({DENSE}) beside it",
                "none",
                "add one, or leave it out",
            )
        if alike := _twice(
            [ranker.stem(of) for ranker in self.rankers for of in self.trained_on(ranker)]
        ):
            flags, do = (
                "--models, --negatives-of, --trainset",
                "rename a training set, or an encoder's folder",
            )
            raise _wrong(flags, "a name of its own for each training", f"two called {alike!r}", do)
        _check_known("--compared", "models of the study", self.compared, every)
        re_rankers = [ranker.name for ranker in self.rankers if not ranker.dense]
        _check_known("--ensemble", "models of the study", self.ensemble, re_rankers)
        if len(self.ensemble) == 1:
            raise _wrong(
                "--ensemble",
                "two models or more",
                f"{self.ensemble[0]!r} alone",
                "name another, or none",
            )

    @property
    def others(self) -> tuple[Negatives, ...]:
        """The further training sets."""
        return (*self.negatives_of, *self.trainsets)

    @property
    def rankers(self) -> list[Ranker]:
        """Return the models with their names; a kind that occurs more than once is followed by its
        start.
        """
        kinds = Counter(model.kind for model in self.models)
        return [
            Ranker(f"{m.kind}-{m.pretrained or 'random'}" if kinds[m.kind] > 1 else m.kind, m)
            for m in self.models
        ]

    @property
    def in_ensemble(self) -> list[str]:
        """Return the names of the ensemble's models; none if there are fewer than two."""
        own = [ranker.name for ranker in self.rankers if ranker.model.kind == IN_ENSEMBLE]
        return list(self.ensemble) or (own if len(own) > 1 else [])

    @property
    def sets(self) -> list[Negatives]:
        """Return every training set, BM25's first."""
        found = [Negatives(REGENERATED), *self.others]
        return [
            *found,
            *(
                of._replace(name=f"{of.name}{CLEANED}", cleaned=True)
                for of in self.others
                if self.cleaned
            ),
        ]

    def trained_on(self, ranker: Ranker) -> list[Negatives]:
        """Return the training sets of one model."""
        compared = self.compared or [of.name for of in self.rankers if not of.dense]
        return self.sets if ranker.name in compared else self.sets[:1]

    def reach(self, split: str) -> int:
        """Return the re-ranking depth of a test's candidates."""
        return max(self.depth, *self.depths) if split in self.curve_tests else self.depth

    @property
    def test_splits(self) -> list[str]:
        """Return the splits of the tests, each once."""
        return list(dict.fromkeys(test.split for test in self.tests))

    @property
    def splits(self) -> list[str]:
        """Return all splits of the study, each once."""
        return list(
            dict.fromkeys(
                (*self.sources, *([self.validation] if self.validation else []), *self.test_splits)
            )
        )

    def record(self) -> JsonObject:
        """Return the settings for a manifest: JSON-ready, files by name."""
        plain = (
            "validation",
            "complete_qrels",
            "cleaned",
            "negatives",
            "train_depth",
            "depth",
            "retrieval_depth",
            "index",
        )
        return {
            **{
                name: getattr(self, name)
                for name in (*plain, "relevant_from", "test_relevant_from", "seed")
            },
            **{
                name: list(getattr(self, name))
                for name in ("sources", "compared", "depths", "curve_tests", "seeds")
            },
            "tests": [test.label for test in self.tests],
            "models": [model.record() for model in self.models],
            "ensemble": self.in_ensemble,
            "sets": [
                {"name": s.name, "judgements": s.judgements, "stored": s.stored and s.stored.name}
                for s in self.sets
            ],
            "candidates": {split: path.name for split, path in self.candidates.items()},
            "bm25": asdict(self.bm25),
        }


def _wrong(flag: str, wanted: str, found: object, do: str) -> SettingError:
    return SettingError(f"{flag}: wanted {wanted}; found {found}; {do}")


def _named(flag: str, form: str, text: str) -> tuple[str, str]:
    """Split ``NAME=VALUE`` into its two sides."""
    name, _, value = text.partition("=")
    if not name or not value:
        raise _wrong(flag, form, repr(text), "write it so")
    return name, value


def _check_known(flag: str, what: str, given: Iterable[str], known: Collection[str]) -> None:
    if strange := next((name for name in given if name not in known), None):
        raise _wrong(
            flag,
            f"{what} ({', '.join(known) or 'none'})",
            repr(strange),
            or_closest(strange, known, "name one of these"),
        )


def _twice(names: Iterable[str]) -> str | None:
    """Return the first repeated name."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


COMMAND = StudyCommand(
    settings=TripClickSettings,
    defaults={"models": ("bert_cat", "bert_dot")},
    own_encoders=True,
    decided={
        "most_depth": "validation is only at --depth",
        "least_depth": "validation is only at --depth",
        "probe_passages": "MATS is not logged",
        "group_size": "models are trained on triples",
    },
    quick="20 candidates are re-ranked, 100 retrieved, and the curve ends at 20",
    quick_sizes={"depth": 20, "depths": (5, 10, 20), "retrieval_depth": 100, "train_depth": 100},
    help="How effective are re-rankers and dense retrieval on COLLECTION's clicks, and what do "
    "better negatives gain?"
    r"""

Trains each of --models (KIND, or KIND=ENCODER for several encoders) with BM25's negatives, re-ranks
BM25's candidates of every test, combines the BERT_CATs, and retrieves with bert_dot. With
``negatives_of`` or ``trainsets`` models are also trained on other negatives.

    posbias study tripclick tripclick --test-split head_validation:dctr \
            --test-split torso_validation --test-split tail_validation \
      --models bert_cat=allenai/scibert_scivocab_uncased \
              --models bert_dot=allenai/scibert_scivocab_uncased \
      --negatives-of original=own --out trip
    posbias import planted --answers-each 4 --out clicks
    posbias study tripclick clicks --test-split test:true --models tk \
            --negatives-of original=passed-over --complete-qrels true --cleaned --out bad
""",
)
