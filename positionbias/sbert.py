"""Measure position bias during training with sentence-transformers (extra ``sbert``)."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from positionbias.audit.answers import WORTH, Contrast, Effect, Question
from positionbias.audit.audit import audit, make_task
from positionbias.audit.measured import given_in
from positionbias.audit.run import evidence_rule
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System
from positionbias.core.collection import find_collection
from positionbias.core.errors import DependencyError, SettingError, check_type
from positionbias.core.inputs import CollectionLike, RunLike
from positionbias.core.records import Query
from positionbias.core.run import Run, find_run
from positionbias.firststage.bm25 import retrieve
from positionbias.firststage.settings import Bm25Settings
from positionbias.ranking.config import Computing

try:
    from sentence_transformers.base.evaluation import BaseEvaluator
    from transformers import TrainerCallback, TrainerControl, TrainerState

    from positionbias.models.sbert import wrap_library_model
except ModuleNotFoundError as error:
    if str(error.name).partition(".")[0] != "sentence_transformers":
        raise
    raise DependencyError(
        "positionbias.sbert: wanted the package sentence-transformers, 6.0 or newer; found none; "
        "run: pip install 'positionbias[sbert]'"
    ) from None

__all__ = ["PositionBiasCallback", "PositionBiasEvaluator"]

_REPORTED = {Contrast.ENDS: "end_minus_front", Contrast.MIDDLE: "middle_minus_ends"}


class PositionBiasEvaluator(BaseEvaluator):
    """Audit a sentence-transformers model during training: does the place of the evidence in its
    passage change the score?

    It moves the evidence of each query as ``audit_model`` does and returns the same effects, as
    shares of the evidence's worth (its score less that of an equally long sentence of another
    passage in its place), with simultaneous 95 % intervals; NaN where that is not shown to be
    above 0. The collection is read and candidates are found once, when the evaluator is made. A
    model may be a SentenceTransformer, CrossEncoder, SparseEncoder or MultiVectorEncoder; a
    cross-encoder's scores are taken before its activation. ``primary_metric`` is the size of end −
    front; smaller is better. A useless model is unbiased too, so also watch a measure of quality.

    Args:
        collection: A collection, its folder or its name under $POSBIAS_HOME.
        split: The split with the queries; never the final test queries.
        queries: Number of queries to draw by the seed; by default all with evidence.
        candidates: The run among which passages are ranked; by default BM25's.
        settings: What to move and draw; parts that the effects do not need (rotations, thirds …)
            are left out.
        name: Prefix of each metric's name.

    Raises:
        InputError: no such collection or split, or no evidence in it.
        SettingError: ``settings`` that move nothing or retrieve, or ``queries`` below 1.

    Example:
        >>> import positionbias as pb
        >>> from sentence_transformers import SentenceTransformer
        >>> from positionbias.sbert import PositionBiasEvaluator
        >>> evaluator = PositionBiasEvaluator("planted", name="planted")
        >>> metrics = evaluator(SentenceTransformer("dot.ckpt", device="cpu"))
        >>> list(metrics)[:4]
        ['planted_absolute_end_minus_front', 'planted_end_minus_front',
         'planted_end_minus_front_low', 'planted_end_minus_front_high']
        >>> metrics["planted_queries"], evaluator.primary_metric
        (12.0, 'planted_absolute_end_minus_front')
    """

    def __init__(
        self,
        collection: CollectionLike,
        *,
        split: str = "validation",
        queries: int | None = None,
        candidates: RunLike | None = None,
        settings: AuditSettings | None = None,
        name: str = "",
    ) -> None:
        super().__init__()
        settings = AuditSettings() if settings is None else settings
        check_type("settings", settings, AuditSettings, "AuditSettings")
        if queries is not None:
            check_type("queries", queries, int, "a whole number")
            if queries < 1:
                raise SettingError(f"queries: wanted at least 1; found {queries}; raise it")
        if settings.retrieve:
            raise SettingError(
                "settings: wanted evidence moved in re-ranked candidates; found retrieve=True; "
                "leave it out"
            )
        self.name, self.greater_is_better = name, False
        self.primary_metric = "absolute_end_minus_front"
        self.csv_file = f"position_bias_evaluation{'_' * bool(name)}{name}_results.csv"
        self._settings = replace(settings, rotation=False)
        opened = find_collection(collection)

        def by_bm25(asked: Sequence[Query]) -> Run:
            return retrieve(opened, asked, settings.depth, Bm25Settings())

        self._task = make_task(
            opened,
            split,
            by_bm25 if candidates is None else find_run(candidates),
            settings,
            queries=queries,
            rule=evidence_rule(opened, settings, Computing()),
        )

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: float = -1, steps: int = -1
    ) -> dict[str, float]:
        """Return the model's current effects; its modes and weights stay, and torch's generators
        are not used.

        Args:
            model: The model, on its own device.
            output_path: A folder with the CSV file to add a line to.
            epoch: The epoch, for the file and the model card.
            steps: The step, for the file and the model card.

        Returns:
            ``end_minus_front`` and ``middle_minus_ends``, each with ``_low`` and ``_high``;
            ``absolute_end_minus_front``; and ``queries``, the number with both places. All from
            texts that the model reads whole, if there are enough; NaN if undefined.

        Raises:
            InputError: not one of the library's models, or scores that are not finite.
        """
        name = self.name or "model"
        with _modes_kept(model):
            audited = System(name, model=wrap_library_model(model, name))
            verdicts = [
                one.verdict for one in given_in(audit(self._task, [audited], self._settings).rows)
            ]
        metrics = _metrics(
            next(one for one in verdicts if one.question == Question.PASSAGE).effects
        )
        if output_path is not None:
            self._write(
                Path(output_path) / self.csv_file, {"epoch": epoch, "steps": steps, **metrics}
            )
        metrics = self.prefix_name_to_metrics(metrics, self.name)
        # trainers give floats
        keep = self.store_metrics_in_model_card_data
        keep(model, metrics, epoch, steps)  # type: ignore[arg-type]
        return metrics

    def get_config_dict(self) -> dict[str, Any]:
        """Return the evaluator's settings for the model card."""
        return {
            "collection": self._task.collection.name,
            "split": self._task.split,
            "seed": self._settings.seed,
        }

    def _write(self, place: Path, row: dict[str, float]) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        new = not place.exists()
        with place.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(row))
            if new:
                writer.writeheader()
            writer.writerow(row)


class PositionBiasCallback(TrainerCallback):
    """Audit the model each time its trainer evaluates, or after each epoch if the trainer never
    does.

    Use it if ``evaluator=`` is taken or the training evaluates by a loss alone. The effects join
    the evaluation's metrics, named ``eval_…``, so that ``metric_for_best_model`` and early stopping
    see them; the trainer's log history; and the evaluator's CSV file in the folder ``eval`` of the
    trainer's output. With several processes, the main one audits. A tracker gets the effects
    through ``evaluator=`` only.

    Args:
        evaluator: The evaluator to run.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.sbert import PositionBiasCallback, PositionBiasEvaluator
        >>> callback = PositionBiasCallback(PositionBiasEvaluator("planted", name="planted"))
        >>> callback.evaluator.primary_metric
        'absolute_end_minus_front'
    """

    def __init__(self, evaluator: PositionBiasEvaluator) -> None:
        check_type("evaluator", evaluator, PositionBiasEvaluator, "a PositionBiasEvaluator")
        self.evaluator = evaluator

    def on_evaluate(
        self,
        args: Any,
        state: TrainerState,
        control: TrainerControl,
        metrics: dict[str, float] | None = None,
        **of: Any,
    ) -> None:
        """Add the effects to the metrics of an evaluation."""
        self._audit(args, state, of["model"], {} if metrics is None else metrics)

    def on_epoch_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **of: Any
    ) -> None:
        """Audit after an epoch if the trainer does not evaluate."""
        if args.eval_strategy == "no":
            self._audit(args, state, of["model"], {})

    def _audit(self, args: Any, state: TrainerState, model: Any, metrics: dict[str, float]) -> None:
        if not state.is_world_process_zero:
            return
        epoch, step = state.epoch or 0.0, state.global_step
        effects = self.evaluator(model, str(Path(args.output_dir) / "eval"), epoch, step)
        found = {f"eval_{name}": value for name, value in effects.items()}
        metrics.update(found)
        state.log_history.append({**found, "epoch": epoch, "step": step})


def _metrics(effects: Sequence[Effect]) -> dict[str, float]:
    """Return the effects as shares of the evidence's worth, by name; a verdict's own effects take
    precedence over those of all texts.
    """
    own: dict[Contrast, Effect] = {}
    for effect in effects:
        if effect.unit == WORTH:
            own.setdefault(effect.contrast, effect)
    found: dict[str, float] = {}
    for contrast, name in _REPORTED.items():
        effect = own.get(contrast, Effect(contrast, WORTH, None))
        numbers = {"": effect.value, "_low": effect.low, "_high": effect.high}
        found |= {
            f"{name}{end}": math.nan if number is None else number
            for end, number in numbers.items()
        }
    queries = next((effect.queries for effect in effects if effect.contrast == Contrast.ENDS), 0)
    absolute = {"absolute_end_minus_front": abs(found["end_minus_front"])}
    return {**absolute, **found, "queries": float(queries)}


@contextmanager
def _modes_kept(model: Any) -> Iterator[None]:
    """Restore every module's training or evaluation mode after the block."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
