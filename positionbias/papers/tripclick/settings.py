"""Settings of the TripClick study (test sets, models, training sets, depths), and its command."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from positionbias.core.errors import SettingError, or_closest
from positionbias.core.settings import REQUIRED, check_once, check_settings, setting
from positionbias.core.shared_settings import StopBy, TrainDepth, TrainingSplit
from positionbias.experiments.models import ModelSettings, StudySettings
from positionbias.papers import StudyCommand
from positionbias.papers.tripclick import REGENERATED
from positionbias.training.config import TrainConfig, refuse_validating

DENSE = "bert_dot"  # the kind that retrieves; all others re-rank


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
            raise _wrong("--test-split", "SPLIT or SPLIT:JUDGEMENTS", text, "write it so")
        return JudgedSplit(split, judgements or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TripClickSettings(StudySettings):
    """Settings of the study.

    Models are trained on triples with BM25's negatives, the models ``compared`` (none: re-rankers)
    also on every other set. ``depths`` beyond ``retrieval_depth`` are left out. A validation
    re-ranks to ``depth``, like the tests, so that weights are chosen at the depth of their use.
    """

    tests: tuple[JudgedSplit, ...] = setting(
        REQUIRED,
        "A test split, with one of its named sets of judgements, as head_test:dctr; repeatable.",
        flags=("--test-split",),
        metavar="SPLIT[:JUDGEMENTS]",
        shown=True,
    )
    source: TrainingSplit = "train"
    validation: StopBy = None
    negatives_of: Mapping[str, str] = setting(
        {},
        "A further training set, whose negatives are the passages of grade 0 in a set of the "
        "training split's judgements, or with NAME=own in its own set, as in TripClick; "
        "repeatable.",
        metavar="NAME=JUDGEMENTS",
        shown=True,
    )
    trainsets: Mapping[str, Path] = setting(
        {},
        "A further training set, as it is (posbias model trainset); repeatable.",
        metavar="NAME=DIR",
        flags=("--trainset",),
        shown=True,
    )
    compared: tuple[str, ...] = setting(
        (),
        "A model to train on the further sets too; repeatable. [default: every re-ranker]",
        metavar="MODEL",
    )
    ensemble: tuple[str, ...] = setting(
        (), "A re-ranker of the ensemble; repeatable.", metavar="MODEL"
    )
    complete_qrels: str | None = setting(
        None,
        "A complete set of judgements of the training split, by which to count false negatives.",
        metavar="JUDGEMENTS",
    )
    negatives: int = setting(20, "Most negatives per query and clicked passage.", least=1)
    train_depth: TrainDepth = 1000
    depth: int = setting(200, "Candidates to re-rank for the tables.", least=1)
    depths: tuple[int, ...] = setting(
        (5, 10, 20, 50, 100, 200, 500, 1000),
        "Re-ranking depths of the curve on the first test split, to --retrieval-depth at most; "
        "repeatable.",
    )
    retrieval_depth: int = setting(
        1000, "Passages per test query, for BM25 and dense retrieval.", least=1
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.validation is None:
            refuse_validating("no --validation-split")
        names = list(self._names())
        check_once({"--test-split": self.tests, "--models": names})
        check_once({"--source, --test-split, --validation-split": self.splits})
        check_once({"--negatives-of, --trainset": self.sets})
        for name in self.sets:
            if not re.fullmatch(r"[\w-]+", name):
                wanted = "a name of letters, digits, - and _"
                raise _wrong("--negatives-of, --trainset", wanted, name, "give another")
        if self.depth > self.retrieval_depth:
            raise _wrong("--depth", "at most --retrieval-depth", self.depth, "change one")
        for model in self.models:
            if (size := model.training.group_size) != 2:
                wanted = "2, as models are trained on triples"
                raise _wrong("--group-size", wanted, size, "leave it out")
        _check_known("--compared", self.compared, names)
        _check_known("--ensemble", self.ensemble, [name for name in names if not self.dense(name)])
        _check_known("--candidates", self.candidates, self.splits)
        # without validation no depth is tried, and trainings have no such setting
        depths = (1, TrainConfig().most_depth) if self.validation is None else (self.depth,) * 2
        trained = []
        for model in self.models:
            way = replace(
                model.training, least_depth=depths[0], most_depth=depths[1], probe_passages=0
            )
            trained.append(replace(model, training=way))
        object.__setattr__(self, "models", tuple(trained))

    def _names(self) -> Iterable[str]:
        kinds = Counter(model.kind for model in self.models)
        for model in self.models:
            start = f"-{model.pretrained or 'random'}" if kinds[model.kind] > 1 else ""
            yield f"{model.kind}{start}"

    @property
    def named(self) -> dict[str, ModelSettings]:
        """The models by name: the kind, with the start of one that occurs more than once."""
        return dict(zip(self._names(), self.models, strict=True))

    def dense(self, name: str) -> bool:
        """Return whether a model retrieves."""
        return self.named[name].kind == DENSE

    @property
    def sets(self) -> list[str]:
        """Return the name of every training set, BM25's first."""
        return [REGENERATED, *self.negatives_of, *self.trainsets]

    def trained_on(self, name: str) -> list[str]:
        """Return the training sets of one model."""
        compared = name in self.compared if self.compared else not self.dense(name)
        return self.sets if compared else [REGENERATED]

    @property
    def curve(self) -> list[int]:
        """Return the depths of the curve, ascending."""
        within = {depth for depth in self.depths if depth <= self.retrieval_depth}
        return sorted(within | {self.depth})

    def reach(self, split: str) -> int:
        """Return the re-ranking depth of a test's candidates."""
        return self.curve[-1] if split == self.tests[0].split else self.depth

    @property
    def test_splits(self) -> list[str]:
        """Return the splits of the tests, each once."""
        return list(dict.fromkeys(test.split for test in self.tests))

    @property
    def splits(self) -> list[str]:
        """Return all splits of the study."""
        return [*filter(None, (self.source, self.validation)), *self.test_splits]


def _wrong(flag: str, wanted: str, found: object, do: str) -> SettingError:
    return SettingError(f"{flag}: wanted {wanted}; found {found!r}; {do}")


def _check_known(flag: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            do = or_closest(name, known, "name one of these")
            raise _wrong(flag, f"some of {', '.join(known) or 'none'}", name, do)


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
BM25's candidates of every test, combines those of --ensemble, and retrieves with bert_dot. With
``negatives_of`` or ``trainsets`` models are also trained on other negatives.

    posbias study tripclick tripclick --test-split head_validation:dctr \
            --test-split torso_validation --test-split tail_validation \
      --models bert_cat=allenai/scibert_scivocab_uncased \
              --models bert_dot=allenai/scibert_scivocab_uncased \
      --negatives-of original=own --out trip
""",
)
