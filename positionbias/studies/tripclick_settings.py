"""What the TripClick study is run with: test sets, models, training sets, depths."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from positionbias.core.errors import SettingError
from positionbias.firststage.bm25 import Bm25Settings
from positionbias.results.tripclick import CLEANED, REGENERATED
from positionbias.studies.model_settings import ModelSettings
from positionbias.training.config import TrainConfig

__all__ = ["DECIDED", "DENSE", "DEPTHS", "OWN_JUDGEMENTS", "JudgedSplit", "Negatives", "Ranker", "TripClickSettings"]

DENSE = "bert_dot"  # what retrieves; every other kind re-ranks
DEPTHS = (5, 10, 20, 50, 100, 200, 500, 1000)
IN_ENSEMBLE = "bert_cat"
OWN_JUDGEMENTS = "own"  # what a split's own set of judgements is called, which has no name
# settings of a training that the study sets for all models
DECIDED = {
    "most_depth": "validation is at --depth alone",
    "least_depth": "validation is at --depth alone",
    "probe_passages": "MATS is not logged",
    "group_size": "models are trained on triples",
}


class JudgedSplit(NamedTuple):
    """A split with one of its sets of judgements (None: its own)."""

    split: str
    judgements: str | None = None

    @property
    def label(self) -> str:
        """As results name it, and as the collection's files are named."""
        return self.split if self.judgements is None else f"{self.split}.{self.judgements}"

    @staticmethod
    def read(text: str) -> JudgedSplit:
        """As the command line has it: ``SPLIT`` or ``SPLIT:JUDGEMENTS``.

        Raises:
            SettingError: another form.
        """
        split, colon, judgements = text.partition(":")
        if not split or (colon and not judgements):
            raise SettingError(f"--tests: wanted SPLIT or SPLIT:JUDGEMENTS; found {text!r}; write it so")
        return JudgedSplit(split, judgements or None)


class Negatives(NamedTuple):
    """A training set by where its negatives come from: ``judgements``, a set of the training splits whose passages of grade 0 they are
    ("own": the set without a name), or a stored training set; neither: BM25's candidates. ``cleaned``: without those that are relevant in truth."""

    name: str
    judgements: str | None = None
    stored: Path | None = None
    cleaned: bool = False


class Ranker(NamedTuple):
    """A model of the study under its name, the kind alone or with what it begins with."""

    name: str
    model: ModelSettings

    @property
    def dense(self) -> bool:
        """Whether it retrieves."""
        return self.model.kind == DENSE

    def stem(self, of: Negatives) -> str:
        """What a training of it on a set is called in files, before its seed."""
        own = re.sub(r"[^\w.-]+", "-", self.name).strip("-")
        return f"{own}-{of.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TripClickSettings:
    """What the study is run with.

    Models are trained on ``train`` splits, with up to ``negatives`` passages for each (query, clicked passage) from BM25's first ``train_depth``;
    ``others`` are further training sets, on which the models named ``compared`` (empty: every re-ranker) are trained too. ``truth`` names a set of
    the training splits' judgements that is complete: by it false negatives are counted, and with ``cleaned`` each set but BM25's is also trained on
    without them.

    Re-rankers reorder BM25's first ``depth`` candidates, and on ``curve_tests`` (empty: the first test's split) every one of ``depths``; models of the
    kind bert_dot retrieve ``retrieval_depth`` passages of the whole collection by ``index``. ``ensemble`` names the models of the ensemble (empty: every
    BERT_CAT, where there are two). A validation re-ranks to ``depth``, as tests are re-ranked: which step's weights are kept is decided where they are
    used. Training and validation passages are relevant from ``relevant_from`` on, those of tests from
    ``test_relevant_from``.
    """

    tests: tuple[JudgedSplit, ...]
    models: tuple[ModelSettings, ...]
    train: tuple[str, ...] = ("train",)
    validation: str | None = None
    others: tuple[Negatives, ...] = ()
    compared: tuple[str, ...] = ()
    ensemble: tuple[str, ...] = ()
    truth: str | None = None
    cleaned: bool = False
    negatives: int = 20
    train_depth: int = 1000
    depth: int = 200
    depths: tuple[int, ...] = DEPTHS
    curve_tests: tuple[str, ...] = ()
    retrieval_depth: int = 1000
    index: Literal["exact", "hnsw", "ivf"] = "exact"
    relevant_from: int = 1
    test_relevant_from: int = 1
    seeds: tuple[int, ...] = (1,)
    candidates: Mapping[str, Path] = field(default_factory=dict)
    bm25: Bm25Settings = field(default_factory=Bm25Settings)
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("negatives", "train_depth", "depth", "retrieval_depth", "relevant_from", "test_relevant_from"):
            if getattr(self, name) < 1:
                raise SettingError(f"{_flag(name)}: wanted at least 1; found {getattr(self, name)}; raise it")
        if self.depth > self.retrieval_depth:
            raise SettingError(
                f"--depth: wanted at most --retrieval-depth ({self.retrieval_depth}), what BM25 gives; found {self.depth}; change one"
            )
        if given := next((m.training.group_size for m in self.models if m.training.group_size != 2), None):
            raise SettingError(f"--group-size: wanted 2, as models are trained on triples; found {given}; leave it out")
        self._check_lists()
        self._check_splits()
        self._check_sets()
        self._check_names()
        within = tuple(depth for depth in sorted(self.depths) if depth <= self.retrieval_depth)
        object.__setattr__(self, "depths", within)
        object.__setattr__(self, "curve_tests", self.curve_tests or (self.tests[0].split,))
        # without validation no depth is looked at, and none is a setting of a training
        deepest = TrainConfig().most_depth if self.validation is None else self.depth
        least = 1 if self.validation is None else self.depth
        trained = (
            replace(m, training=replace(m.training, least_depth=least, most_depth=deepest, probe_passages=0))
            for m in self.models
        )
        object.__setattr__(self, "models", tuple(trained))

    def _check_lists(self) -> None:
        listed: dict[str, Sequence[Any]] = {"--tests": [test.label for test in self.tests], "--seeds": self.seeds}
        listed |= {"--train": self.train, "--depths": self.depths}
        for flag, values in listed.items():
            if not values or len(set(values)) < len(values):
                found = ", ".join(map(str, values)) or "none"
                raise SettingError(f"{flag}: wanted at least one, each once; found {found}; give each once")
        if min(self.depths) < 1:
            raise SettingError(f"--depths: wanted depths from 1; found {min(self.depths)}; raise it")
        if self.depths != DEPTHS and max(self.depths) > self.retrieval_depth:  # of the defaults those that are there
            wanted = f"at most --retrieval-depth ({self.retrieval_depth}), what BM25 gives"
            raise SettingError(f"--depths: wanted {wanted}; found {max(self.depths)}; change one")

    def _check_splits(self) -> None:
        tested = {test.split for test in self.tests}
        if both := tested.intersection(self.train):
            raise SettingError(f"--train, --tests: wanted different splits; found {min(both)!r} as both; change one")
        if self.validation in {*tested, *self.train}:
            found = f"{self.validation!r}"
            raise SettingError(f"--validation: wanted a split beside those of --train and --tests; found {found}; give another")
        if strange := [split for split in self.curve_tests if split not in tested]:
            known = ", ".join(sorted(tested))
            raise SettingError(f"--curve-tests: wanted splits of --tests ({known}); found {strange[0]!r}; name one of these")
        if strange := [split for split in self.candidates if split not in self.splits]:
            known = ", ".join(self.splits)
            raise SettingError(f"--candidates: wanted splits of the study ({known}); found {strange[0]!r}; name one of these")

    def _check_sets(self) -> None:
        names = [of.name for of in self.others]
        flag = "--negatives-of, --trainset"
        if twice := [name for name, count in Counter([REGENERATED, *names]).items() if count > 1]:
            raise SettingError(
                f"{flag}: wanted each name once, and none of them {REGENERATED!r}; found {twice[0]!r}; rename it"
            )
        for name in names:
            if not name or name.endswith(CLEANED) or not all(char.isalnum() or char in "-_" for char in name):
                raise SettingError(f"{flag}: wanted a name of letters, digits, - and _; found {name!r}; give another")
        if self.cleaned and not (self.truth and self.others):
            wanted = "--truth and another training set (--negatives-of or --trainset)"
            raise SettingError(
                f"--cleaned: wanted {wanted} beside it; found {'none' if not self.truth else 'no set'}; give both"
            )

    def _check_names(self) -> None:
        """What is compared and put together must be there."""
        names = [ranker.name for ranker in self.rankers if not ranker.dense]
        every = [ranker.name for ranker in self.rankers]
        if len(set(every)) < len(every):
            twice = next(name for name, count in Counter(every).items() if count > 1)
            raise SettingError(f"--models: wanted each model once; found {twice!r} twice; drop one, or give it another encoder")
        if self.index != "exact" and not any(ranker.dense for ranker in self.rankers):
            raise SettingError(
                f"--index: wanted a model that retrieves ({DENSE}) beside it; found none; add one, or leave it out"
            )
        trained = Counter(ranker.stem(of) for ranker in self.rankers for of in self.trained_on(ranker))
        if alike := next((stem for stem, count in trained.items() if count > 1), None):
            raise SettingError(
                f"--models, --negatives-of, --trainset: wanted a name of its own for each training; found two called {alike!r}; rename a "
                "training set, or an encoder's folder"
            )
        for flag, given, known in (("--compared", self.compared, every), ("--ensemble", self.ensemble, names)):
            if strange := [name for name in given if name not in known]:
                raise SettingError(
                    f"{flag}: wanted models of the study ({', '.join(known) or 'none'}); found {strange[0]!r}; name one of these"
                )
        if len(self.ensemble) == 1:
            raise SettingError(
                f"--ensemble: wanted two models or more; found {self.ensemble[0]!r} alone; name another, or none"
            )

    @property
    def rankers(self) -> list[Ranker]:
        """The models with their names: where a kind comes more than once, what it begins with stands behind it."""
        kinds = Counter(model.kind for model in self.models)
        return [Ranker(f"{m.kind}-{m.pretrained or 'random'}" if kinds[m.kind] > 1 else m.kind, m) for m in self.models]

    @property
    def in_ensemble(self) -> list[str]:
        """The names of the ensemble's models; none where there are not two."""
        own = [ranker.name for ranker in self.rankers if ranker.model.kind == IN_ENSEMBLE]
        return list(self.ensemble) or (own if len(own) > 1 else [])

    @property
    def sets(self) -> list[Negatives]:
        """Every training set, BM25's first."""
        found = [Negatives(REGENERATED), *self.others]
        return [*found, *(of._replace(name=f"{of.name}{CLEANED}", cleaned=True) for of in self.others if self.cleaned)]

    def trained_on(self, ranker: Ranker) -> list[Negatives]:
        """The training sets of one model."""
        compared = self.compared or [of.name for of in self.rankers if not of.dense]
        return self.sets if ranker.name in compared else self.sets[:1]

    def reach(self, split: str) -> int:
        """How deep the candidates of a test are re-ranked."""
        return max(self.depth, *self.depths) if split in self.curve_tests else self.depth

    @property
    def splits(self) -> tuple[str, ...]:
        """Every split that is read, once."""
        tests = (test.split for test in self.tests)
        return tuple(dict.fromkeys((*self.train, *([self.validation] if self.validation else []), *tests)))

    def record(self) -> dict[str, Any]:
        """As the manifest has it: JSON-ready, files by name."""
        plain = ("validation", "truth", "cleaned", "negatives", "train_depth", "depth", "retrieval_depth", "index")
        return {
            **{name: getattr(self, name) for name in (*plain, "relevant_from", "test_relevant_from", "seed")},
            **{name: list(getattr(self, name)) for name in ("train", "compared", "depths", "curve_tests", "seeds")},
            "tests": [test.label for test in self.tests],
            "models": [model.record() for model in self.models],
            "ensemble": self.in_ensemble,
            "sets": [{"name": s.name, "judgements": s.judgements, "stored": s.stored and s.stored.name} for s in self.sets],
            "candidates": {split: path.name for split, path in self.candidates.items()},
            "bm25": asdict(self.bm25),
        }


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
