"""The audit from Python: ``positionbias.audit_model(model, collection)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from positionbias.audit.audit import audit, make_task
from positionbias.audit.retriever import MEMORY, fitting_vectors
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System, retrievers
from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import SettingError
from positionbias.core.records import Query
from positionbias.core.run import Run, read_run
from positionbias.dense.vectors import Vectors
from positionbias.firststage.bm25 import Bm25Settings
from positionbias.firststage.bm25 import retrieve as by_bm25
from positionbias.models.checkpoint import Checkpoint, load_checkpoint
from positionbias.models.user_code import scorer_of
from positionbias.results.audit import GapFigures
from positionbias.results.payloads import Examples, PositionBuckets, Verdict
from positionbias.results.result import Result

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

__all__ = ["Audit", "audit_model"]

Model = str | Path | Checkpoint | Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found."""

    results: Sequence[Result]

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """The answers: of each system whether the place in the passage matters, and of a model the place in the list."""
        return [result.payload for result in self.results if isinstance(result.payload, Verdict)]

    @property
    def verdict(self) -> str:
        """The answers in words, at most three lines each."""
        return "\n".join(sentence for verdict in self.verdicts for sentence in verdict.sentences)

    def frame(self) -> pandas.DataFrame:
        """A row for each measure of each system: what was measured, the value, its interval, and what it rests on."""
        import pandas

        rows = [_row(result) for result in self.results if not isinstance(result.payload, Verdict)]
        return pandas.DataFrame(rows)

    def plots(self) -> Mapping[str, Figure]:
        """Every figure by its name."""
        from positionbias.report.audit_page import audit_figures

        return audit_figures(self.results)

    def plot(self, name: str | None = None) -> Figure:
        """One figure; by default the position response, or where there is none the quality by position.

        Raises:
            SettingError: there is no figure of this name; those that there are, are named.
        """
        figures = self.plots()
        if name is None:
            name = next((known for known in ("position-response", *figures) if known in figures), "position-response")
        if name not in figures:
            raise SettingError(f"plot: wanted one of {', '.join(figures) or 'none'}; found {name!r}; give one of these")
        return figures[name]


def audit_model(
    model: Model | Sequence[Model],
    collection: Collection | str | Path,
    *,
    split: str = "test",
    candidates: Run | str | Path | None = None,
    queries: int | None = None,
    retrieve: bool = False,
    vectors: Vectors | str | Path | Sequence[Vectors | str | Path] = (),
    memory: float = MEMORY,
    settings: AuditSettings | None = None,
    **changes: Any,
) -> Audit:
    """Audit one model or several on a split with answers.

    A model is a name (a checkpoint, a folder or id of transformers or sentence-transformers, ``minilm``, ``module:function``), a loaded
    checkpoint, or a function ``(query, passages) → scores``. ``candidates`` are what it re-ranks, by default BM25's. With ``retrieve`` it ranks
    the whole collection instead, which a model of one vector a text can; ``vectors`` of ``posbias encode`` spare the encoding of the passages
    as they are, ``memory`` in GiB bounds the search. Settings are those of ``AuditSettings``, as keyword arguments or whole.

        found = positionbias.audit_model("minilm", "squad", queries=500)
        print(found.verdict)
        found.frame()
        found.plot()

    Raises:
        InputError: what cannot be read, or a model whose scores are no finite numbers.
        SettingError: a setting out of range.
    """
    if settings is not None and changes:
        raise SettingError("audit_model: wanted settings whole or by name; found both; give one")
    if not retrieve and vectors:
        raise SettingError("vectors: wanted retrieve=True beside them; found otherwise; a re-ranker encodes its candidates")
    chosen = settings or (AuditSettings.of_retrieval(**changes) if retrieve else AuditSettings(**changes))
    found = collection if isinstance(collection, Collection) else find_collection(collection)
    several = _listed(model)
    checkpoints = [_checkpoint(one) for one in several] if retrieve else []
    opened = [one if isinstance(one, Vectors) else Vectors(one) for one in _listed(vectors)]
    if retrieve:  # what cannot be is said before BM25 goes through the collection
        fitting_vectors(checkpoints, found, opened, depth=chosen.depth, memory=memory)
    if candidates is not None and not isinstance(candidates, Run):
        candidates = read_run(candidates)

    def first_stage(drawn: Sequence[Query]) -> Run:
        return by_bm25(found, drawn, chosen.depth, Bm25Settings())

    task = make_task(found, split, candidates or first_stage, chosen, queries=queries)
    if retrieve:
        systems = retrievers(checkpoints, task, depth=chosen.depth, memory=memory, vectors=opened)
    else:
        systems = [_system(one) for one in several]
    systems = [System.of_candidates(task), *systems]
    return Audit(audit(task, systems, chosen))


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


def _checkpoint(model: Any) -> Checkpoint:
    """A model that is named or loaded.

    Raises:
        SettingError: a function, which has no vectors.
    """
    if isinstance(model, Checkpoint):
        return model
    if not isinstance(model, str | Path):
        name = getattr(model, "__name__", type(model).__name__)
        raise SettingError(f"model: wanted one with one vector a text, named or loaded; found {name}; leave retrieve out")
    return load_checkpoint(model)


def _system(model: Any) -> System:
    if isinstance(model, str | Path | Checkpoint):
        return System.of(_checkpoint(model))
    name = getattr(model, "__name__", type(model).__name__)
    return System(name, model=scorer_of(model, name))


def _row(result: Result) -> dict[str, Any]:
    payload, bounds = result.payload, result.interval
    quality = payload.quality if isinstance(payload, PositionBuckets | GapFigures | Examples) else None
    buckets = payload if isinstance(payload, PositionBuckets) else None
    return {
        "system": result.system,
        "measure": result.measure,
        "quality": quality,
        "scale": buckets.scale if buckets else None,
        "passages": (buckets and buckets.group) or "all",
        "value": result.value,
        "low": bounds.low if bounds else None,
        "high": bounds.high if bounds else None,
        "count": result.count,
    }
