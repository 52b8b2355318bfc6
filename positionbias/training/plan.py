"""The plan of a training: its model, data and start in one frozen record, checked when made."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from positionbias.core.errors import SettingError
from positionbias.core.settings import check_settings, setting
from positionbias.models.kinds import begins_with, config_class, scores_log_probabilities
from positionbias.positions.rotate import Rotation
from positionbias.positions.shuffle import SentenceShuffle
from positionbias.training.config import LOSSES, TrainConfig

if TYPE_CHECKING:
    from positionbias.positions.rotated_texts import TextChange

# files and folders
INPUTS = (
    "candidates",
    "trainset",
    "teacher_scores",
    "validation_candidates",
    "word_vectors",
    "start",
)
TEACHER_DEPTH = 100  # contaminated-distillation paper, §4


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainPlan:
    """Everything that determines a training, besides the collection's content.

    Groups are sampled from ``candidates`` and the judgements, or read from ``trainset``. With
    ``teacher_scores`` both may be missing: then negatives come from the first ``teacher_depth``
    passages in the teacher's order (None: 100). Otherwise the teacher must have scored the passages
    of ``candidates`` or ``trainset``. ``split`` is the queries' split (None: "train"); a training
    set names its own, and ``split`` may only be one of them. ``model`` is the shape (None: the
    kind's own, or that of ``start``). A model of words knows the words of the passages and of its
    training queries, and those of the splits ``words_of``: models with the same initial weights
    need the same words. It starts from ``word_vectors`` or at random, a model over an encoder from
    ``encoder``, any model from ``start``, a checkpoint of its kind. ``rotate`` rotates each read of
    a training passage by a cut of its own (as the reference does); None reads passages as stored.
    ``shuffle`` puts the sentences of each read in an order of its own. Without
    ``validation_candidates`` all steps are made, and the last weights are kept.
    """

    kind: str = "tk"
    candidates: Path | None = setting(
        None,
        "A run over the training queries, from which negatives are drawn.",
        metavar="RUN",
        place="read",
    )
    validation_candidates: Path | None = setting(
        None,
        "A run over the validation queries; without it all steps are made, and the last weights "
        "are kept.",
        metavar="RUN",
        place="read",
    )
    trainset: Path | None = setting(
        None, "A set of training groups, instead of --candidates.", metavar="DIR", place="read"
    )
    teacher_scores: Path | None = setting(
        None,
        "A teacher's scores (from posbias model teach, a run, or a TSV), for losses of "
        "distillation; "
        "without --candidates and --trainset, negatives come from its ranking.",
        metavar="FILE",
        place="read",
    )
    teacher_depth: int | None = setting(
        None,
        "Depth of the teacher's ranking from which negatives are drawn.",
        least=1,
        absent=str(TEACHER_DEPTH),
        shown=False,
    )
    split: str | None = setting(
        None,
        "Queries to train on.",
        absent="train, or the splits of --trainset",
        metavar="SPLIT",
        shown=False,
    )
    validation_split: str = setting(
        "validation", "Queries to validate on.", metavar="SPLIT", shown=False
    )
    relevant_from: int = setting(
        1, "Grade from which a passage is relevant.", least=1, metavar="GRADE", shown=False
    )
    model: Any = None
    training: TrainConfig = field(default_factory=TrainConfig)
    rotate: Rotation | None = None
    shuffle: SentenceShuffle | None = None
    words_of: tuple[str, ...] | None = None
    word_vectors: Path | None = setting(
        None,
        "Vectors to start from: GloVe's, word2vec's or ours; by default words start at random.",
        metavar="FILE",
        place="read",
    )
    encoder: str | None = setting(
        None,
        "The encoder or T5 to start from.",
        absent="the kind's own",
        metavar="PATH|ID",
        place="read",
    )
    start: Path | None = setting(
        None,
        "A checkpoint of this kind to continue from: its weights and its shape.",
        metavar="CHECKPOINT",
        place="read",
        shown=False,
    )

    def __post_init__(self) -> None:
        check_settings(self)
        shape = config_class(self.kind)
        if self.model is None and self.start is None:
            object.__setattr__(self, "model", shape())
        if not isinstance(self.model, shape | None):
            raise SettingError(
                f"model: wanted the shape of a {self.kind}; found {self.model}; give a "
                f"{shape.__name__}"
            )
        logs = scores_log_probabilities(self.kind, self.model)
        object.__setattr__(
            self, "training", self.training.of_kind(self.kind, log_probabilities=logs)
        )
        if self.model is not None:
            check_loss(str(self.training.loss), self.kind, self.model)
        if self.rotate is not None and self.shuffle is not None:
            raise SettingError(
                "--rotate-at-reading, --shuffle-at-reading: wanted one of the two; found both; "
                "give one, as a rotated shuffle is a shuffle"
            )
        self._check_source()
        if self.trainset is None and self.split is None:
            object.__setattr__(self, "split", "train")
        self._check_beginning()

    def _check_source(self) -> None:
        if self.candidates is not None and self.trainset is not None:
            raise SettingError(
                "--candidates, --trainset: wanted one of the two; found both; give one"
            )
        alone = self.candidates is None and self.trainset is None
        if alone and self.teacher_scores is None:
            raise SettingError(
                "--candidates, --trainset, --teacher-scores: wanted one of them; found none; give "
                "one"
            )
        loss = str(self.training.loss)
        if self.teacher_scores is not None and not LOSSES[loss].teacher:
            raise SettingError(
                f"--teacher-scores: wanted a loss that reads them ({_named(teacher=True)}); found "
                f"--loss {loss}; give another, or leave them out"
            )
        if LOSSES[loss].teacher and self.teacher_scores is None and self.trainset is None:
            raise SettingError(
                f"--loss: wanted --teacher-scores beside {loss}; found none; give them, or another "
                "loss"
            )
        if self.teacher_depth is not None and not alone:
            found = (
                f"{self.teacher_depth} beside --candidates or --trainset, which say what negatives "
                "are"
            )
            raise SettingError(
                f"--teacher-depth: wanted --teacher-scores alone; found {found}; leave it out"
            )
        if alone and self.teacher_depth is None:
            object.__setattr__(self, "teacher_depth", TEACHER_DEPTH)

    def _check_beginning(self) -> None:
        beginning = begins_with(self.kind)
        if beginning != "encoder" and self.encoder is not None:
            do = "give --word-vectors" if beginning == "words" else "leave it out"
            raise SettingError(
                f"--encoder: wanted none for {self.kind}, which reads words; found {self.encoder}; "
                f"{do}"
            )
        if beginning != "words" and self.word_vectors is not None:
            do = "give --encoder" if beginning == "encoder" else "leave it out"
            raise SettingError(
                f"--word-vectors: wanted none for {self.kind}; found {self.word_vectors}; {do}"
            )
        if beginning == "encoder" and (self.encoder is None) == (self.start is None):
            found = "neither" if self.encoder is None else "both"
            raise SettingError(
                f"--encoder, --start: wanted one of the two; found {found}; give one"
            )

    @property
    def reading(self) -> TextChange | None:
        """The change of each read of a passage, or None."""
        return self.rotate or self.shuffle

    @property
    def named(self) -> str:
        """The kind, with the encoder's name, as speed depends on the encoder."""
        return f"{self.kind} over {Path(self.encoder).name}" if self.encoder else self.kind


def check_loss(loss: str, kind: str, shape: Any) -> None:
    """Check that a loss fits the scores of a model of this shape.

    Raises:
        SettingError: it does not.
    """
    logs = scores_log_probabilities(kind, shape)
    if LOSSES[loss].log_probabilities == logs:
        return
    fitting = ", ".join(name for name, wanted in LOSSES.items() if wanted.log_probabilities == logs)
    if logs:
        raise SettingError(
            f"--loss: wanted {fitting}: this {kind} scores by log-probability; found {loss}; give "
            f"--loss {fitting}"
        )
    raise SettingError(
        f"--loss: wanted {fitting}: this {kind} has no head for relevant and not relevant; found "
        f"{loss}; give one of these, or train mono_t5, or a bert_cat from its --encoder with "
        "--loss pointwise"
    )


def _named(*, teacher: bool) -> str:
    return ", ".join(name for name, wanted in LOSSES.items() if wanted.teacher == teacher)
