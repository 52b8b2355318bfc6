"""Settings of the leakage study (splits, pairs, kinds and sizes of training sets), and its
command.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from positionbias.core.errors import SettingError, or_closest
from positionbias.core.settings import REQUIRED, check_once, check_settings, setting
from positionbias.evaluation.cross_validation import FOLDS
from positionbias.experiments.models import StudySettings
from positionbias.leakage.settings import KINDS, Kind, LeakedSettings, LeakingPairs
from positionbias.papers import StudyCommand
from positionbias.papers.leakage import CONDITIONS, NO
from positionbias.training.config import refuse_validating


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakageSettings(StudySettings):
    """Settings of the study; source and target are splits of one collection (merged, if they are of
    two corpora).
    """

    target: str = setting(
        REQUIRED, "Split of the judged test queries.", metavar="SPLIT", shown=True
    )
    sources: tuple[str, ...] = setting(
        REQUIRED,
        "Training queries; repeatable.",
        flags=("--source",),
        metavar="SPLIT",
        shown=True,
    )
    leaking: LeakingPairs
    kinds: tuple[Kind, ...] = setting(
        KINDS,
        "No leakage, leaking training queries, or the test queries themselves; repeatable. "
        "Name no and one of the others.",
        flags=("--leakage",),
    )
    sizes: tuple[int, ...] = setting(
        tuple(1_000 << doubling for doubling in range(8)),  # 1,000 … 128,000, the paper's
        "Training instances, two per query; repeatable.",
        flags=("--size",),
        metavar="INSTANCES",
        shown=True,
    )
    folds: int = setting(
        FOLDS, "Folds of test queries; the size for each is chosen on the others.", least=2
    )

    def __post_init__(self) -> None:
        listed = {
            "--models": [model.kind for model in self.models],
            "--leakage": self.kinds,
            "--size": self.sizes,
        }
        listed |= {"--source": self.sources, "--pairs": self.leaking.files}
        check_once(listed)
        if NO not in self.kinds or len(self.kinds) < 2:
            found = ", ".join(self.kinds)
            raise SettingError(
                f"--leakage: wanted {NO}, and a leakage to compare with it (msm, test); found "
                f"{found}; add what is missing"
            )
        check_settings(self)
        refuse_validating("this study, which has no validation: the last weights are kept")
        if unused := [split for split in self.candidates if split not in self.splits]:
            splits = ", ".join(self.splits)
            do = or_closest(unused[0], self.splits, "name one of these")
            raise SettingError(
                f"--candidates: wanted splits of the study ({splits}); found {unused[0]!r}; {do}"
            )
        if self.target in self.sources:
            raise SettingError(
                f"--target, --source: wanted different splits; found {self.target!r} as both; name "
                "others"
            )
        self.sets()  # report an unusable size or leakage before the study begins
        once = (
            replace(
                m,
                training=replace(m.training, epochs=m.training.epochs or 1, most_depth=self.depth),
            )
            for m in self.models
        )
        object.__setattr__(self, "models", tuple(once))

    @property
    def splits(self) -> tuple[str, ...]:
        """All splits of the study."""
        return (*self.sources, self.target)

    @property
    def ordered_kinds(self) -> list[str]:
        """Return the kinds of training set, in the paper's order."""
        return [kind for kind in CONDITIONS if kind in self.kinds]

    @property
    def leakages(self) -> list[str]:
        """Return the kinds of training set with leakage, in the paper's order."""
        return [kind for kind in self.ordered_kinds if kind != NO]

    def sets(self) -> dict[tuple[str, int], LeakedSettings]:
        """Return the settings of each training set, by kind and size."""
        leaked = self.leaking.leaked_queries
        return {
            (kind, size): LeakedSettings(kind, size, self.seed, None if kind == NO else leaked)
            for kind, size in product(self.kinds, self.sizes)
        }


COMMAND = StudyCommand(
    settings=LeakageSettings,
    lasting="1",
    quick="1,000 and 4,000 instances, 20 candidates per query",
    quick_sizes={"sizes": (1_000, 4_000), "depth": 20},
    help="Do near-duplicates of test queries in the training queries of COLLECTION change the "
    "evaluation of re-rankers?"
    r"""

Trains each model on sets of several sizes without leakage, with leaked training queries, and with
the test queries themselves; re-ranks the test queries' candidates, chooses sizes by
cross-validation, and measures the ranks of leaked passages. Merge a source and a target of
different corpora first (posbias collection merge).

    posbias study leakage both --target robust --source msmarco --pairs leaks --models knrm \
            --models tk --out leaking
""",
)
