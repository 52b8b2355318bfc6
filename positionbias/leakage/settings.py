"""Settings of the search for leaked queries, of samples of pairs, and of training sets with leaked
queries; checking them needs no numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from positionbias.core.errors import SettingError
from positionbias.core.places import Place, input_place
from positionbias.core.settings import (
    REQUIRED,
    Seeded,
    Setting,
    Settings,
    check_settings,
    setting,
)
from positionbias.core.shared_settings import QueryPrompt
from positionbias.leakage.pairs import SCORES
from positionbias.models.kinds import ReadAs
from positionbias.ranking.config import DEVICES, Computing, RankingConfig

if TYPE_CHECKING:
    from positionbias.ranking.loading import Loading

Detector = Literal["semantic", "lexical", "both"]
Kind = Literal["no", "msm", "test"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ENCODER = "sentence-transformers/paraphrase-MiniLM-L6-v2"  # the paper's
THRESHOLD = 0.91  # the paper's, for its encoder
DETECTOR = Setting(
    "Semantic: by the cosine of an encoder's vectors. Lexical: by the same words, or those with "
    "most of the weight.",
    choices=get_args(Detector),
)
# in the order of a table
FIELDS = ("query", "title", "question", "description", "narrative", "variant")


@dataclass(frozen=True, slots=True)
class FindSettings(Settings):
    """The detectors and their thresholds.

    By meaning a pair is one of the 100 nearest training queries of a text in each source, with a
    cosine of at least ``threshold``; by words as ``leakage.lexical`` has it.

    Raises:
        SettingError: an unknown detector, or a number outside its range.
    """

    detector: Annotated[Detector, DETECTOR] = "both"
    threshold: float | None = setting(
        None,
        "Lowest cosine of a pair; the paper's is 0.91.",
        least=-1,
        most=1,
        absent="the encoder's own, if people labelled its cosines",
        metavar="SCORE",
    )


@dataclass(frozen=True, slots=True)
class SampleSettings(Seeded):
    """The number of pairs to label, the lowest score and the number of strata.

    Raises:
        SettingError: a setting outside its range.
    """

    sample_size: int = setting(100, "Pairs to draw.", metavar="N")
    above: float = setting(
        0.8,
        "The lowest score of a pair.",
        least=0,
        below=1,
    )
    strata: int = setting(10, "Parts of equal width, from --above to 1.", least=1)
    score: str = setting("cosine", "Score of similarity.", choices=SCORES)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.sample_size < self.strata:
            raise SettingError(
                f"--sample-size: wanted at least one per stratum, {self.strata}; found "
                f"{self.sample_size}; raise it, or lower --strata"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakingPairs(Settings):
    """Leaked training queries: files of pairs, and which of these count.

    ``threshold`` is the cosine from which an unlabelled pair leaks (None: every pair).
    ``labelled_only``: only labelled pairs leak; the others are only candidates, as in the paper.

    Raises:
        SettingError: a setting outside its range.
    """

    pairs: Sequence[Place] = setting(
        REQUIRED,
        "Pairs of leaking training queries and test queries: from posbias leakage find, or "
        "labelled ones; repeatable.",
        metavar="DIR|FILE",
        place="read",
    )
    threshold: float | None = setting(
        None,
        "Lowest cosine at which an unlabelled pair leaks. [default: all do]",
        least=-1,
        most=1,
        metavar="SCORE",
        shown=False,
    )
    labelled_only: bool = setting(
        False,
        "Count only pairs labelled as leaks, as in the paper; queries of other pairs stay out of "
        "the filling.",
        shown=False,
    )
    leaked_queries: int | None = setting(
        None,
        "Number of leaking queries, the same for all sizes.",
        least=1,
        metavar="N",
        absent="twice the number of judged test queries",
    )

    @property
    def files(self) -> tuple[Path, ...]:
        """Return the files of pairs."""
        return tuple(map(input_place, self.pairs))


@dataclass(frozen=True, slots=True)
class LeakedSettings:
    """Settings of one set: kind, size in instances (two per query), seed, and leaked queries.

    Raises:
        SettingError: a size that is odd or below 2.
    """

    kind: Kind
    instances: int
    seed: int = 1
    leaked_queries: int | None = None

    def __post_init__(self) -> None:
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


@dataclass(frozen=True, slots=True)
class Encoder:
    """The model that makes vectors of queries, and its device and precision."""

    encoder: str | None = setting(
        None,
        "What encodes queries: a folder, a model's id on the hub, or minilm, whose weights come as "
        "a pip package.",
        metavar="PATH|ID",
        place="read",
    )
    kind: ReadAs = None
    query_prompt: QueryPrompt = None
    device: str = setting(
        DEVICES[0],
        "Device to compute on; auto is the GPU if there is one.",
        choices=DEVICES,
        shown=False,
    )
    config: RankingConfig = field(default_factory=RankingConfig)

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def loading(self) -> Loading:
        """How the model is loaded, in any process."""
        return Computing(self.device, self.config, self.query_prompt).loading(
            self.encoder or ENCODER, self.kind
        )
