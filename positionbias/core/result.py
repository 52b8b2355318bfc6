"""A Result: one measurement. A common header, and one typed payload for its kind.

Saved as a folder: ``manifest.json``, ``results.json`` and, for per-item values, Parquet beside it. Reports
need nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from positionbias.core.errors import bad_input
from positionbias.core.files import atomic_folder, read_json, write_json
from positionbias.core.manifest import MANIFEST, Manifest, write_manifest

__all__ = [
    "AtsCurve",
    "Comparison",
    "Facts",
    "Finding",
    "Interval",
    "PerQuery",
    "PositionHistogram",
    "Result",
    "Statistics",
    "TrainingCurve",
    "load_results",
    "save_results",
]

RESULTS = "results.json"
TEXTS = ("original", "rotated")  # which passages were read


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval and how it was made (e.g. "bootstrap over 4,000 queries, clustered by passage")."""

    low: float
    high: float
    level: float = 0.95
    method: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a system is and what it was shown, so that nothing reads it out of a name. Empty or None: does not apply.

    ``model`` the kind ("tk", "bert_cat", "bert_dot"; "bm25" and "position-only" of a baseline). ``training`` the passages that
    it was last trained on, ``test`` those that it was measured on: "original" or "rotated". ``source`` the collection that it was
    trained on before, ``source_training`` the passages of that. ``rotation`` the seed of the draw behind every rotated passage
    of training and test, ``seed`` that of the training. ``pretrained`` the weights that training began with (an encoder, word
    vectors; empty: drawn at random). ``variant`` what else a study varies, in words ("no positions", "answers in 0:0.2").
    """

    model: str = ""
    training: str = ""
    test: str = ""
    source: str = ""
    source_training: str = ""
    rotation: int | None = None
    seed: int | None = None
    pretrained: str = ""
    variant: str = ""

    def __post_init__(self) -> None:
        for name in ("training", "test", "source_training"):
            if getattr(self, name) not in ("", *TEXTS):
                raise ValueError(f"{name}: wanted one of {', '.join(TEXTS)} or nothing; found {getattr(self, name)!r}")


@dataclass(frozen=True, slots=True)
class Statistics:
    """Named figures: rows of a table (collection statistics, counts by cause)."""

    rows: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PositionHistogram:
    """Where answers sit. Positions are relative, in [0, 1); densities sum to 1 over the bins.

    ``counts`` per bin; ``expected`` the share of each bin that an unbiased collection would have (uniform over the
    possible starts of every answer); ``outcomes`` counts answers by what happened to them (answers, matched,
    unmatched, empty, cut …); ``figures`` holds each summary with its expectation and interval.
    """

    edges: Sequence[float]
    counts: Sequence[int]
    expected: Sequence[float]
    outcomes: Mapping[str, int]
    figures: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PerQuery:
    """One value a query; saved as Parquet beside the JSON."""

    query_ids: Sequence[str]
    values: Sequence[float]
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems (or one system on two test sets) on the same queries: candidate against baseline.

    ``difference`` = candidate − baseline; ``relative`` = difference / baseline; ``relative_as_printed`` =
    difference / candidate, the form of the paper's Tables 3–4. p-values are None where undefined.
    """

    baseline: str
    candidate: str
    baseline_mean: float
    candidate_mean: float
    difference: float
    difference_interval: Interval | None
    relative: float | None
    relative_as_printed: float | None
    relative_interval: Interval | None
    effect_size: float | None
    p_wilcoxon: float | None
    p_t: float | None
    p_adjusted: Mapping[str, float | None] = field(default_factory=dict)
    subset: str = "all queries"
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AtsCurve:
    """Average term similarity by distance Δ (Eq. 8): one entry a Δ, from 0.

    ``terms`` and ``pairs`` count what each point rests on; ``std_terms`` is the exact deviation over terms, ``std_pairs``
    the deviation over a seeded sample of pairs (Figure 2's band). ``figures`` holds MATS in its printed and plain forms.
    """

    deltas: Sequence[int]
    ats: Sequence[float]
    terms: Sequence[int]
    pairs: Sequence[int]
    std_terms: Sequence[float | None]
    std_pairs: Sequence[float | None]
    figures: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TrainingCurve:
    """What was logged at each validation of a training."""

    steps: Sequence[int]
    series: Mapping[str, Sequence[float | None]]
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """What the figures say, in a sentence; ``holds`` None where they decide nothing."""

    text: str
    holds: bool | None = None


Payload = Statistics | PositionHistogram | PerQuery | Comparison | AtsCurve | TrainingCurve | Finding
KINDS: dict[str, type] = {
    "statistics": Statistics,
    "histogram": PositionHistogram,
    "per_query": PerQuery,
    "comparison": Comparison,
    "ats": AtsCurve,
    "training": TrainingCurve,
    "finding": Finding,
}


@dataclass(frozen=True, slots=True)
class Result:
    """One measurement: what was measured, on what, of which system, with which seed; the value and how sure it is.

    ``value`` None means undefined (the payload says why). ``count`` is what the value rests on: queries, answers, passages.
    ``seed`` is that of the measurement's own draws (a bootstrap, a sample of pairs); ``facts`` has the training's. Of a comparison,
    they are the candidate's.
    """

    measure: str
    collection: str
    split: str
    system: str
    seed: int | None
    value: float | None
    interval: Interval | None
    count: int
    payload: Payload
    facts: Facts = field(default_factory=Facts)

    @property
    def kind(self) -> str:
        """The payload's kind, as it stands in JSON."""
        return next(name for name, type_ in KINDS.items() if type(self.payload) is type_)

    def to_json(self, *, items: bool = True) -> dict[str, Any]:
        """A JSON-ready dictionary; ``items=False`` leaves per-query values out (they stand in Parquet)."""
        record = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        record["facts"] = {name: value for name, value in record["facts"].items() if value not in ("", None)}
        record["kind"] = self.kind
        if not items and isinstance(self.payload, PerQuery):
            record["payload"].pop("query_ids")
            record["payload"].pop("values")
        return record

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> Result:
        """The inverse of ``to_json``."""
        record = dict(record)
        payload = dict(record.pop("payload"))
        kind = KINDS[record.pop("kind")]
        for key in ("difference_interval", "relative_interval"):
            if payload.get(key):
                payload[key] = Interval(**payload[key])
        interval, facts = record.pop("interval"), Facts(**record.pop("facts"))
        return Result(**record, interval=Interval(**interval) if interval else None, payload=kind(**payload), facts=facts)


def _plain(value: Any) -> Any:
    """Make a value JSON-ready: dataclasses to dictionaries, NumPy to Python, NaN and infinities to None."""
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def save_results(folder: Path | str, results: Sequence[Result], manifest: Manifest, *, overwrite: bool = False) -> None:
    """Write results as a folder, per-query values as ``items-NUMBER.parquet``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with atomic_folder(folder, overwrite=overwrite) as partial:
        records = []
        for number, result in enumerate(results):
            record = result.to_json(items=False)
            if isinstance(result.payload, PerQuery):
                record["items"] = f"items-{number:03d}.parquet"
                columns = {"query_id": list(result.payload.query_ids), "value": [float(v) for v in result.payload.values]}
                pq.write_table(pa.table(columns), partial / record["items"])
            records.append(record)
        write_json(partial / RESULTS, {"results": records})
        write_manifest(partial / MANIFEST, manifest)


def load_results(folder: Path | str) -> list[Result]:
    """Read what ``save_results`` wrote.

    Raises:
        InputError: no results there, or not in our form.
    """
    import pyarrow.parquet as pq

    folder = Path(folder)
    path = folder / RESULTS
    if not path.is_file():
        raise bad_input(folder, wanted="a folder of results", found=f"no {RESULTS}", do="give the --out of a measuring command")
    results = []
    try:
        for record in read_json(path, what="results")["results"]:
            items = record.pop("items", None)
            if items is not None:
                table = pq.read_table(folder / Path(items).name)
                record["payload"]["query_ids"] = table.column("query_id").to_pylist()
                record["payload"]["values"] = table.column("value").to_pylist()
            results.append(Result.from_json(record))
    except (KeyError, TypeError, ValueError, AttributeError, OSError) as error:
        raise bad_input(
            path, wanted="results of this version", found=str(error), do="run the measuring command again"
        ) from error
    return results
