"""Settings of the search for leaked queries and of training sets with them; checking them needs no
numpy.
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
from positionbias.leakage.pairs import SCORES

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
    "LexicalSettings",
    "MaterialSettings",
    "NearestSettings",
]

Detector = Literal["semantic", "lexical", "both"]
Kind = Literal["no", "msm", "test"]
KINDS: tuple[Kind, ...] = get_args(Kind)
THRESHOLD = 0.91  # the paper's, for its encoder; ``thresholds`` has others
# in the order of a table
FIELDS = ("query", "title", "question", "description", "narrative", "variant")
LEAKAGES_HELP = (
    "No leakage, leaking training queries, or the test queries themselves. May be given again."
)
SIZES_HELP = "Training instances, two per query; may be given again."
SIZES = tuple(1_000 << doubling for doubling in range(8))  # 1,000 … 128,000, the paper's


@dataclass(frozen=True, slots=True)
class NearestSettings:
    """Settings of the search by cosine: k ``neighbours`` of each test vector with a cosine of at
    least ``floor`` (None: any), within ``memory`` GiB.

    Raises:
        SettingError: a number outside its range.
    """

    neighbours: int = setting(
        100,
        "Nearest training queries of a source for each text, by cosine.",
        least=1,
        panel=Panel.ADVANCED,
    )
    floor: float | None = setting(
        None,
        "Lowest cosine of a pair; the paper's is 0.91.",
        least=-1,
        most=1,
        wanted="a cosine from -1 to 1",
        absent="the encoder's own, if people labelled its cosines",
        flags=("--threshold",),
        metavar="SCORE",
    )
    memory: float = setting(
        1.0,
        "Memory for the search by cosine, in GiB.",
        above=0,
        wanted="GiB above 0",
        metavar="GIB",
        panel=Panel.ADVANCED,
    )

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class LexicalSettings:
    """Settings of the lexical detector: a pair has the same words, or Jaccard or containment
    reaches its threshold and more than one entity is shared.

    Raises:
        SettingError: a number outside its range.
    """

    jaccard: float = setting(
        0.6,
        "Lowest weighted Jaccard coefficient of a pair found by words.",
        above=0,
        most=1,
        wanted="a share above 0, to 1",
        panel=Panel.ADVANCED,
    )
    containment: float = setting(
        1.0,
        "Lowest share of a test text's terms, by weight, that a training query must contain.",
        above=0,
        most=1,
        wanted="a share above 0, to 1",
        panel=Panel.ADVANCED,
    )

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class FindSettings:
    """The detectors and their thresholds; the paper's are 100 neighbours and a cosine of 0.91
    (``nearest.floor``).

    Raises:
        SettingError: an unknown detector.
    """

    detector: Detector = setting(
        "both",
        "Semantic: by the cosine of an encoder's vectors. Lexical: by the same words, or those "
        "with most of the weight.",
        choices=get_args(Detector),
    )
    nearest: NearestSettings = field(default_factory=NearestSettings)
    lexical: LexicalSettings = field(default_factory=LexicalSettings)

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def floor(self) -> float:
        """Return the lowest cosine of a pair, by default the paper's."""
        return THRESHOLD if self.nearest.floor is None else self.nearest.floor


@dataclass(frozen=True, slots=True)
class MaterialSettings:
    """Criteria for leaks, relevance and candidates.

    ``threshold`` of ``score`` as in ``leaks.leaks`` (None: every pair). ``labelled_only``: only
    labelled pairs leak; the others are only candidates, as in the paper. A passage is relevant from
    grade ``relevant_from``, in the target from ``target_relevant_from``; lower grades from 1 are
    neither relevant nor negative [decision]. Negatives are among the first ``train_depth``
    candidates (the paper: 100).

    Raises:
        SettingError: a grade or depth below 1, or a threshold that is not a number.
    """

    threshold: float | None = setting(
        None, "Lowest score at which an unlabelled pair leaks. [default: all do]", metavar="SCORE"
    )
    score: str = setting(
        "cosine", "Score to compare with --threshold.", choices=SCORES, panel=Panel.ADVANCED
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

        return (
            (under(self.prefixes[0], ""), under(self.prefixes[1], ""))
            if self.prefixes
            else ("", "")
        )


@dataclass(frozen=True, slots=True)
class LeakedSettings:
    """Settings of one set: kind, size in instances (two per query), seed, and leakage as a number
    of queries or a share.

    Raises:
        SettingError: an unknown kind, a size that is odd or below 2, both a number and a share, or
            one outside its range.
    """

    kind: Kind = required_setting("What leaks into the set.", choices=KINDS, flags=("--leakage",))
    instances: int = required_setting(
        "Size of the set, two instances per query.", flags=("--size",)
    )
    seed: int = seed_setting()
    leaked_queries: int | None = setting(
        None, "Number of leaking queries.", least=1, do="raise it; without leakage: --leakage no"
    )
    leaked_share: float | None = setting(
        None,
        "The share of the set that leaks.",
        above=0,
        most=1,
        wanted="a share above 0, to 1",
        panel=Panel.ADVANCED,
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.instances < 2 or self.instances % 2:
            raise SettingError(
                "--size: wanted an even number of instances, two per query; found "
                f"{self.instances:,}; give another"
            )
        if self.leaked_queries is not None and self.leaked_share is not None:
            raise SettingError(
                "--leaked-queries, --leaked-share: wanted one of the two; found both; drop one"
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
    leaked_share: float | None = setting(
        None, "Or the share of each size that leaks.", metavar="0..1", panel=Panel.ADVANCED
    )

    def __post_init__(self) -> None:
        check_settings(self)

    def sets(self, leaked_queries: int | None = None) -> list[LeakedSettings]:
        """Return the sets by leakage, size and seed; ``leaked_queries`` is the same for all
        sizes.
        """
        return [
            LeakedSettings(kind, size, seed, leaked_queries, self.leaked_share)
            for kind in self.kinds or KINDS
            for size in self.sizes or SIZES
            for seed in range(self.seed, self.seed + self.repeats)
        ]
