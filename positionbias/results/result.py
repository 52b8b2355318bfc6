"""A Result: one measurement, with a common header and one typed payload.

Saved as a folder: ``manifest.json``, ``results.json`` and, for per-item values, Parquet. Reports
need nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from positionbias.core.errors import bad_input
from positionbias.core.files import read_json
from positionbias.core.interval import Interval
from positionbias.core.manifest import MANIFEST, Manifest, write_manifest
from positionbias.core.publish import atomic_folder, write_json
from positionbias.core.schema import converted
from positionbias.core.seal import verified
from positionbias.results.figures import Figures, Record, read_figures
from positionbias.results.payloads import KINDS, Payload, PerQuery

__all__ = ["NOT_BY_QUERY", "Facts", "Result", "load_results", "save_results", "write_results"]

RESULTS = "results.json"
FIGURES = "statistics"  # the kind of every class of figures
# of a payload with values by query: the fields that are not by query
NOT_BY_QUERY = ("notes",)
TEXTS = ("original", "rotated")  # the test or training passages


@dataclass(frozen=True, slots=True)
class Facts:
    """A system and its data, so that no code has to parse names. Empty or None: does not apply.

    ``model`` is the kind ("tk", "bert_cat", "knrm" …, or of a baseline "bm25", "position-only").
    ``training`` are the passages of its last training, ``test`` those of the measurement:
    "original" or "rotated". ``source`` is the collection of its earlier training. ``rotation`` is
    the seed of the draw behind all rotated passages of training and test, ``seed`` that of the
    training. ``pretrained`` names the initial weights (an encoder, word vectors; empty: random).
    ``variant`` is a study's other variation, in words ("no positions", "answers in 0:0.2").

    In distillation ``role`` is "teacher" or "student", and ``loss`` the loss's name. If a teacher
    saw test judgements, ``source`` is their split; a student has its teacher's. Elsewhere ``role``
    is the system's task: "first stage", "re-ranker", "ensemble", "retriever".

    ``unfinished``: one of its trainings was not finished when it ended (``core.convergence``).
    Finished and unfinished trainings are different systems, so no mean or comparison mixes them.
    """

    model: str = ""
    training: str = ""
    test: str = ""
    source: str = ""
    rotation: int | None = None
    seed: int | None = None
    pretrained: str = ""
    variant: str = ""
    role: str = ""
    loss: str = ""
    unfinished: bool = False

    def __post_init__(self) -> None:
        for name in ("training", "test"):
            if getattr(self, name) not in ("", *TEXTS):
                raise ValueError(
                    f"{name}: wanted one of {', '.join(TEXTS)} or nothing; found "
                    f"{getattr(self, name)!r}"
                )


@dataclass(frozen=True, slots=True)
class Result:
    """One measurement: its measure, collection, system and seed, the value and its interval.

    ``value`` is None if undefined (the payload says why). ``count`` is the sample size: queries,
    answers, passages. ``seed`` is that of the measurement's own draws (a bootstrap, a sample of
    pairs); ``facts`` has the training's. In a comparison, ``facts`` are the candidate's.

    Example:
        >>> import positionbias as pb
        >>> reranked = pb.rerank("planted", model="tk.ckpt", candidates="test.run", out="tk.run")
        >>> for result in reranked.results:
        ...     print(f"{result.measure}: {result.value:.0f} passages of {result.collection}")
        re-ranking: 72 passages of planted
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
        """The payload's kind, as in JSON."""
        if isinstance(self.payload, Figures):
            return FIGURES
        return next(name for name, type_ in KINDS.items() if isinstance(self.payload, type_))

    def to_json(self, *, items: bool = True) -> dict[str, Any]:
        """Return a JSON-ready dictionary, without empty per-query fields; ``items=False`` omits
        per-query values (they are in Parquet).
        """
        record = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        record["facts"] = {
            name: value
            for name, value in record["facts"].items()
            if value not in ("", None) and value is not False
        }
        record["kind"] = self.kind
        if isinstance(self.payload, PerQuery):
            payload = record["payload"].items()
            record["payload"] = {
                name: value for name, value in payload if name in NOT_BY_QUERY or (items and value)
            }
        return record

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> Result:
        """Return the result that ``to_json`` wrote; a payload without its values by query has none.

        Raises:
            ValueError, KeyError: a field is missing, unknown or of another type.
        """
        msgspec.json.encode(record)  # text can be written
        record = dict(record)
        kind, payload = record.pop("kind"), record.pop("payload")
        header = {name: converted(_HEADER[name], _closed(value)) for name, value in record.items()}
        return Result(**header, payload=_payload(kind, record["measure"], payload))


_HEADER = {name: type_ for name, type_ in get_type_hints(Result).items() if name != "payload"}


def _payload(kind: str, measure: str, record: Mapping[str, Any]) -> Payload:
    if kind == FIGURES:
        return read_figures(measure, record["rows"])
    type_ = KINDS[kind]
    hints = get_type_hints(type_)
    payload: Payload = converted(
        type_, {name: _part(hints.get(name), value) for name, value in record.items()}
    )
    return payload


def _part(type_: Any, value: Any) -> Any:
    """Convert a part of a payload: named figures to their type, and an interval without a finite
    end to None.
    """
    return (
        type_.from_rows(_closed(value))
        if isinstance(type_, type) and issubclass(type_, Record)
        else _closed(value)
    )


def _closed(value: Any) -> Any:
    """Replace an interval without a finite end by None, also within an object."""
    if not isinstance(value, dict):
        return value
    ends = "low" in value and "high" in value
    return (
        None
        if ends and None in (value["low"], value["high"])
        else {name: _closed(item) for name, item in value.items()}
    )


def _plain(value: Any) -> Any:
    """Make a value JSON-ready: dataclasses to dictionaries, NumPy to Python, NaN and infinities to
    None.
    """
    if isinstance(value, Figures):
        return {"rows": _plain(value.to_rows())}
    if isinstance(value, Record):
        return _plain(value.to_rows())
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


def save_results(
    folder: Path | str, results: Sequence[Result], manifest: Manifest, *, overwrite: bool = False
) -> None:
    """Write results to a folder, with per-query values as ``items-NUMBER.parquet``."""
    with atomic_folder(folder, overwrite=overwrite) as partial:
        write_results(partial, results, manifest)


def write_results(folder: Path, results: Sequence[Result], manifest: Manifest) -> None:
    """Write the files of ``save_results`` into an unfinished folder, beside its other content."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    records = []
    for number, result in enumerate(results):
        record = result.to_json(items=False)
        if columns := _columns(result.payload):
            record["items"] = f"items-{number:03d}.parquet"
            pq.write_table(pa.table(columns), folder / record["items"])
        records.append(record)
    write_json(folder / RESULTS, {"results": records})
    write_manifest(folder / MANIFEST, manifest)


def _columns(payload: Payload) -> dict[str, list[Any]]:
    """The columns of a payload that stand in Parquet, by name; of most, and of one read from JSON
    without them, there are none.
    """
    if not isinstance(payload, PerQuery) or not payload.query_ids:
        return {}
    return {name: list(column) for name, column in payload.columns().items()}


def load_results(folder: Path | str) -> list[Result]:
    """Read the results that ``save_results`` wrote.

    Raises:
        InputError: no results there, or malformed ones.
    """
    import pyarrow.parquet as pq

    folder = Path(folder)
    path = folder / RESULTS
    if not path.is_file():
        raise bad_input(
            folder,
            wanted="a folder of results",
            found=f"no {RESULTS}",
            do="give the --out of a measuring command",
        )
    results = []
    try:
        for record in read_json(path, what="results")["results"]:
            items = record.pop("items", None)
            if items is not None:
                table = pq.read_table(verified(folder / Path(items).name))
                kind: Any = KINDS[record["kind"]]
                record["payload"].update(kind.of_columns(table.to_pydict()))
            results.append(Result.from_json(record))
    except (KeyError, TypeError, ValueError, AttributeError, OSError) as error:
        raise bad_input(
            path,
            wanted="results of this version",
            found=str(error),
            do="run the measuring command again",
        ) from error
    return results
