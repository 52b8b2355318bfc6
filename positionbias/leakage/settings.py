"""Settings of the search for leaked queries, of samples of pairs, and of training sets with leaked
queries; checking them needs no numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from positionbias.core.errors import SettingError
from positionbias.core.places import Place, input_place
from positionbias.core.settings import (
    Panel,
    check_settings,
    required_setting,
    seed_setting,
    setting,
)
from positionbias.leakage.leaks import check_threshold
from positionbias.leakage.pairs import DETECTORS, SCORES

__all__ = [
    "FIELDS",
    "KINDS",
    "LEAKAGES_HELP",
    "SIZES",
    "SIZES_HELP",
    "THRESHOLD",
    "Detector",
    "FindSettings",
    "Kind",
    "LeakedGrid",
    "LeakedSettings",
    "LeakingPairs",
    "MaterialSettings",
    "SampleSettings",
]

Detector = Literal["semantic", "lexical", "both"]
Kind = Literal["no", "msm", "test"]
KINDS: tuple[Kind, ...] = get_args(Kind)
THRESHOLD = 0.91  # the paper's, for its encoder
# in the order of a table
FIELDS = ("query", "title", "question", "description", "narrative", "variant")
LEAKAGES_HELP = (
    "No leakage, leaking training queries, or the test queries themselves. May be given again."
)
SIZES_HELP = "Training instances, two per query; may be given again."
SIZES = tuple(1_000 << doubling for doubling in range(8))  # 1,000 … 128,000, the paper's


@dataclass(frozen=True, slots=True)
class FindSettings:
    """The detectors and their thresholds.

    By meaning a pair is one of the ``neighbours`` nearest training queries of a text, with a cosine
    of at least ``threshold``. By words it has the same words, or Jaccard or containment reaches its
    threshold and more than one entity is shared (``lexical``).

    Raises:
        SettingError: an unknown detector, or a number outside its range.
    """

    detector: Detector = setting(
        "both",
        "Semantic: by the cosine of an encoder's vectors. Lexical: by the same words, or those "
        "with most of the weight.",
        choices=get_args(Detector),
    )
    threshold: float | None = setting(
        None,
        "Lowest cosine of a pair; the paper's is 0.91.",
        least=-1,
        most=1,
        wanted="a cosine from -1 to 1",
        absent="the encoder's own, if people labelled its cosines",
        metavar="SCORE",
    )
    neighbours: int = setting(
        100,
        "Nearest training queries of a source for each text, by cosine.",
        least=1,
        panel=Panel.ADVANCED,
    )
    jaccard: float = setting(
        0.6,
        "Lowest weighted Jaccard coefficient of a pair found by words.",
        above=0,
        most=1,
        panel=Panel.ADVANCED,
    )
    containment: float = setting(
        1.0,
        "Lowest share of a test text's terms, by weight, that a training query must contain.",
        above=0,
        most=1,
        panel=Panel.ADVANCED,
    )

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class SampleSettings:
    """The number of pairs to label, the lowest score and the number of strata.

    Raises:
        SettingError: a setting outside its range.
    """

    sample_size: int = setting(100, "Pairs to draw.", metavar="N")
    above: float = setting(
        0.8, "The lowest score of a pair.", least=0, below=1, wanted="a score from 0 to below 1"
    )
    strata: int = setting(10, "Parts of equal width, from --above to 1.", least=1)
    score: str = setting("cosine", "Score of similarity.", choices=SCORES)
    seed: int = seed_setting()
    found_by: str | None = setting(
        None,
        "Draw of the pairs that this detector found.",
        choices=DETECTORS,
        absent="any",
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.sample_size < self.strata:
            raise SettingError(
                f"--sample-size: wanted at least one per stratum, {self.strata}; found "
                f"{self.sample_size}; raise it, or lower --strata"
            )


@dataclass(frozen=True, slots=True)
class MaterialSettings:
    """Criteria for leaks, relevance and candidates.

    ``threshold`` is the cosine from which an unlabelled pair leaks (None: every pair).
    ``labelled_only``: only labelled pairs leak; the others are only candidates, as in the paper. A
    passage is relevant from grade ``relevant_from``, in the target from ``target_relevant_from``;
    lower grades from 1 are neither relevant nor negative [decision]. Negatives are among the first
    ``train_depth`` candidates (the paper: 100).

    Raises:
        SettingError: a grade or depth below 1, or a threshold that is not a number.
    """

    threshold: float | None = setting(
        None, "Lowest cosine at which an unlabelled pair leaks. [default: all do]", metavar="SCORE"
    )
    labelled_only: bool = setting(
        False,
        "Count only pairs labelled as leaks, as in the paper; queries of other pairs stay out of "
        "the filling.",
        panel=Panel.ADVANCED,
    )
    relevant_from: int = setting(
        1,
        "Lowest grade of a relevant passage in a source.",
        least=1,
        metavar="GRADE",
        panel=Panel.ADVANCED,
    )
    target_relevant_from: int = setting(
        1,
        "Lowest grade of a relevant passage in a target.",
        least=1,
        metavar="GRADE",
        panel=Panel.ADVANCED,
    )
    train_depth: int = setting(
        100, "Candidates per query to draw negatives from.", least=1, panel=Panel.ADVANCED
    )

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        check_settings(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakingPairs:
    """Leaked training queries: files of pairs, and the rules for those that count."""

    pairs: Sequence[Place] = required_setting(
        "Pairs of leaking training queries and test queries: from posbias leakage find, or "
        "labelled ones; may be given again.",
        metavar="DIR|FILE",
        place="read",
    )
    prefixes: tuple[str, str] | None = setting(
        None,
        "In a merged collection: the prefixes of the pairs' training and test queries.",
        metavar="NAME NAME",
        panel=Panel.ADVANCED,
    )
    counted: MaterialSettings = field(default_factory=MaterialSettings)
    leaked_queries: int | None = setting(
        None,
        "Number of leaking queries, the same for all sizes.",
        metavar="N",
        absent="twice the number of judged test queries",
    )

    @property
    def files(self) -> tuple[Path, ...]:
        """Return the files of pairs."""
        return tuple(map(input_place, self.pairs))

    @property
    def id_prefixes(self) -> tuple[str, str]:
        """Return the prefixes of training and test query ids in the collection."""
        from positionbias.corpora.merge import under

        if self.prefixes is None:
            return "", ""
        return under(self.prefixes[0], ""), under(self.prefixes[1], "")


@dataclass(frozen=True, slots=True)
class LeakedSettings:
    """Settings of one set: kind, size in instances (two per query), seed, and leaked queries.

    Raises:
        SettingError: an unknown kind, a size that is odd or below 2, or a number below 1.
    """

    kind: Kind = required_setting("What leaks into the set.", choices=KINDS, flags=("--leakage",))
    instances: int = required_setting(
        "Size of the set, two instances per query.", flags=("--size",)
    )
    seed: int = seed_setting()
    leaked_queries: int | None = setting(
        None, "Number of leaking queries.", least=1, do="raise it; without leakage: --leakage no"
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.instances < 2 or self.instances % 2:
            raise SettingError(
                "--size: wanted an even number of instances, two per query; found "
                f"{self.instances:,}; give another"
            )

    @property
    def queries(self) -> int:
        """Return the number of groups in the set."""
        return self.instances // 2

    @property
    def name(self) -> str:
        """Return the name of the set among those of its material."""
        return f"{self.kind}-{self.instances}-{self.seed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakedGrid:
    """The sets to draw: each leakage in each size, ``repeats`` times."""

    kinds: Sequence[Kind] = setting(
        (),
        f"{LEAKAGES_HELP} [default: all three]",
        flags=("--leakage",),
    )
    sizes: Sequence[int] = setting(
        (),
        f"{SIZES_HELP} [default: 1000, doubling to 128000]",
        flags=("--size",),
        metavar="INSTANCES",
    )
    repeats: int = setting(5, "Repetitions of each set, with seeds from --seed on.", least=1)
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        check_settings(self)

    def sets(self, leaked_queries: int | None = None) -> list[LeakedSettings]:
        """Return the sets by leakage, size and seed; ``leaked_queries`` is the same for all
        sizes.
        """
        return [
            LeakedSettings(kind, size, seed, leaked_queries)
            for kind in self.kinds or KINDS
            for size in self.sizes or SIZES
            for seed in range(self.seed, self.seed + self.repeats)
        ]
