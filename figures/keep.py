"""Keep the rows of results that the tables, figures and sentences of README and docs show.

    python figures/keep.py rows NAME FOLDER QUERY           # of a command's rows, by pandas' query
    python figures/keep.py results NAME FOLDER [MEASURE …]  # of a command's results
    python figures/keep.py benchmark NAME FILE [TITLE …]    # of tables in benchmarks/results/*.md
    python figures/keep.py placed NAME FILE                 # of benchmarks/gpu/evidence.sh
    python figures/keep.py speed NAME FILE                  # of benchmarks/run.py

Each writes ``numbers/NAME.csv`` in the columns of ``positionbias.core.rows``, and what made it into
``numbers/manifest.json``: command, settings, commit.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pandas import DataFrame

from positionbias.core.rows import frame, load, write_csv

HERE = Path(__file__).parent
NUMBERS = HERE / "numbers"
MANIFEST = NUMBERS / "manifest.json"
KEYS = ("share", "pool")  # a study's own: of the test queries seen; the runs that were judged
METHODS = {  # of an interval, by a word of its method
    "max-t": "simultaneous",
    "trainings": "trainings",
    "groups": "groups",
    "pools": "pools",
    "passages": "passages",
    "queries": "queries",
}

Row = dict[str, Any]
Record = Mapping[str, Any]


def framed(rows: Iterable[Row]) -> DataFrame:
    """Return rows as a frame, numbers to seven figures."""
    cells = [{name: _rounded(cell) for name, cell in row.items() if cell != ""} for row in rows]
    return frame(cells, [key for key in KEYS if any(key in row for row in cells)])


def write(name: str, rows: DataFrame, **origin: Any) -> None:
    """Write rows and their origin."""
    write_csv(NUMBERS / f"{name}.csv", rows, overwrite=True)
    manifest = json.loads(MANIFEST.read_text("utf-8")) if MANIFEST.exists() else {}
    manifest[name] = origin
    lines = (
        f'"{key}": {json.dumps(manifest[key], ensure_ascii=False)}' for key in sorted(manifest)
    )
    MANIFEST.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def _rounded(cell: Any) -> Any:
    return float(f"{cell:.7g}") if isinstance(cell, float) else cell


def _commit(*path: str) -> str:
    log = ["git", "log", "-1", "--format=%H", *path]
    return subprocess.run(
        log, cwd=HERE.parent, capture_output=True, text=True, check=True
    ).stdout.strip()


# rows and results of commands


def chosen_rows(name: str, folder: Path, query: str) -> None:
    """Keep the rows of a command that a query chooses, numbers to seven figures."""
    rows = load(folder).query(query).reset_index(drop=True)
    rows["row"] = range(len(rows))
    for column in rows.select_dtypes("float"):
        rows[column] = rows[column].map(_rounded)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    origin = {key: manifest[key] for key in ("command", "settings")}
    write(name, rows.astype({"row": "int32"}), **origin, commit=_commit())


def results(name: str, folder: Path, *measures: str) -> None:
    """Keep a command's results."""
    records = json.loads((folder / "results.json").read_text("utf-8"))["results"]
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    chosen = [record for record in records if not measures or record["measure"] in measures]
    origin = {key: manifest[key] for key in ("command", "settings")}
    write(name, framed(rows_of(chosen)), **origin, commit=_commit())


def rows_of(records: Sequence[Record]) -> list[Row]:
    """Return the rows of results in JSON."""
    rows = []
    for record in records:
        subject = record["measure"] if record["kind"] == "statistics" else record["kind"]
        read = next((read for begin, read in READERS.items() if subject.startswith(begin)), None)
        if read:
            facts = _facts(record)
            rows += [{**facts, **row} for row in read(record, record["payload"])]
    return rows


def _facts(record: Record) -> Row:
    facts = record["facts"]
    same = ("role", "training", "source", "variant", "loss", "test", "seed", "rotation")
    return {
        **{name: facts[name] for name in same if name in facts},
        "collection": record["collection"],
        "split": record["split"],
        "model": facts.get("model") or record["system"],
        "start": facts.get("pretrained", ""),
        "finished": not facts.get("unfinished", False),
        "share": f"{facts['share']:g}" if "share" in facts else "",
        "measure": record["measure"],
        "count": record["count"],
    }


def _ends(bounds: Record | None) -> Row:
    if bounds is None:
        return {}
    kinds = (kind for word, kind in METHODS.items() if word in bounds["method"])
    return {
        **{name: bounds[name] for name in ("low", "high", "level")},
        "interval": next(kinds, ""),
    }


def _per_query(record: Record, payload: Record) -> Iterator[Row]:
    ends = _ends(record["interval"])
    yield {"statistic": "mean", "value": record["value"], **ends, "counted": "queries"}


def _comparison(record: Record, payload: Record) -> Iterator[Row]:
    base = {"against": payload["baseline"], "counted": "queries"}
    for side in ("baseline", "candidate"):
        yield {**base, "statistic": f"{side} mean", "value": payload[f"{side}_mean"]}
    yield from _changes(base, payload)


def _changes(base: Row, payload: Record) -> Iterator[Row]:
    """Yield both differences; of two trainings, which have no interval, also each."""
    tests = {"p": payload["p"], "p_adjusted": payload["p_adjusted"].get("holm")}
    for name in ("difference", "relative"):
        ends = _ends(payload[f"{name}_interval"])
        yield {**base, "statistic": name, "value": payload[name], **ends, **tests}
        few = not ends and base.get("trainings", 1) > 1
        for place, value in enumerate(payload["notes"][f"{name} by seed"] if few else (), 1):
            single = {**base, "axis": "training", "at": float(place), "trainings": 1}
            yield {**single, "statistic": name, "value": value}


def _histogram(record: Record, payload: Record) -> Iterator[Row]:
    total, bounds = sum(payload["counts"]), payload["figures"].get("bin_intervals") or {}
    for number, edge in enumerate(payload["edges"][:-1]):
        row = {"measure": "answers", "statistic": "share", "axis": "start", "at": edge}
        row |= {"value": payload["counts"][number] / total, "count": total}
        ends = {end: bounds[end][number] for end in ("low", "high") if bounds}
        yield {**row, **ends, "expected": payload["expected"][number]}
    for name in ("first_tenth", "mean", "total_variation"):
        figures = payload["figures"][name]
        row = {"measure": name.replace("_", " "), "statistic": "mean", "value": figures["value"]}
        yield {**row, "expected": figures.get("expected"), **_ends(figures["interval"])}
        if "by_chance_high" in figures:
            yield {**row, "statistic": "by chance", "value": figures["by_chance_high"]}


def _verdict(record: Record, payload: Record) -> Iterator[Row]:
    system = {"model": record["system"], "counted": "queries", "count": payload["queries"]}
    read = any(effect["subset"] == "read" for effect in payload["effects"])
    answer = payload["preference"]
    answer += ", perhaps within the margin" if payload["exceeds"] is False else ""
    answer += ", within what it reads" if read else ""
    verdict = {"statistic": "verdict", "answer": answer, "margin": payload["margin"]}
    yield {**system, **verdict, "measure": payload["question"], "subset": "read" if read else ""}
    level = {"level": record["interval"]["level"]} if record["interval"] else {}
    for effect in payload["effects"]:
        same = ("value", "low", "high", "detectable", "subset", "unit")
        row = {**system, **level, **{name: effect[name] for name in same}, "label": effect["unit"]}
        row |= {"measure": effect["contrast"], "count": effect["queries"]}
        yield {**row, "statistic": "difference"}


READERS: Mapping[str, Callable[[Record, Record], Iterator[Row]]] = {
    "per_query": _per_query,
    "comparison": _comparison,
    "histogram": _histogram,
    "verdict": _verdict,
}


# results of benchmarks


def placed(name: str, file: Path) -> None:
    """Keep the studies of placed text: means, comparisons, trainings and audits."""
    whole = json.loads(file.read_text("utf-8"))
    rows = [row for key, study in whole["studies"].items() for row in _study(key, study)]
    settings = {"settings": whole["settings"], "machine": whole["machine"]["devices"]}
    write(name, framed(rows), command=whole["command"], **settings, commit=whole["commits"][-1])


def _study(name: str, study: Record) -> Iterator[Row]:
    base = {"collection": name, "text": "placed", "measure": "nDCG@10", "split": "test"}
    base |= {"count": study["queries"], "counted": "queries"}
    for split, value in study["first stage"].items():
        row = {**base, "count": -1} if split != "test" else base
        yield {**row, "model": "bm25", "split": split, "statistic": "mean", "value": value}
    for cell in study["table"]:
        facts = {name: cell[name] for name in ("model", "training", "test")}
        row = {**base, **facts, "trainings": len(cell["by seed"])}
        yield {**row, "statistic": "mean", "value": cell["mean"], **_ends(cell["interval"])}
        above = cell["above first stage"]
        ends = _ends(above["difference_interval"])
        change = {**row, "statistic": "difference", "against": "model=bm25"}
        yield {**change, "value": above["difference"], **ends}
        for seed, value in cell["by seed"].items():
            ended = {"trainings": 1, "finished": int(seed) not in cell["not finished"]}
            yield {**row, **ended, "seed": int(seed), "statistic": "mean", "value": value}
            if not ends:
                place = {"axis": "training", "at": float(seed)}
                yield {**change, **place, **ended, "value": value - study["first stage"]["test"]}
    for contrast in study["contrasts"]:
        yield from _contrast(base, contrast)
    for training in study["trainings"]:
        facts = {**base, "model": training["model"], "training": training["arm"]}
        facts |= {
            "seed": training["seed"],
            "finished": training["ending"]["finish"] != "not finished",
        }
        facts |= {"split": "validation", "statistic": "mean", "count": -1}
        ending = {
            "value": training["validation_ndcg@10"],
            "expected": study["first stage"]["validation"],
        }
        yield {
            **facts,
            **ending,
            "answer": "above BM25" if training["beats first stage"] else "BM25's order",
        }
    for audit in study["verdicts"]:
        facts = {"collection": name, "text": "placed", "split": "test"}
        facts |= {"training": audit["arm"], "test": "uniform", "seed": audit["seed"]}
        if audit["verdict"]["payload"]["question"] == "position in the passage":
            for row in _verdict(audit["verdict"], audit["verdict"]["payload"]):
                if row.get("label", "deviations") == "deviations":
                    yield {**facts, **row, "model": audit["model"]}


ARM = re.compile(r"(.+) trained on (.+), tested on (.+)")


def _contrast(base: Row, contrast: Record) -> Iterator[Row]:
    sides = [ARM.fullmatch(contrast[side]).groups() for side in ("baseline", "candidate")]
    names = ("model", "training", "test")
    before, after = (dict(zip(names, side, strict=True)) for side in sides)
    against = ", ".join(f"{name}={before[name]}" for name in names if before[name] != after[name])
    trainings = contrast["notes"]["trainings"]
    yield from _changes({**base, **after, "against": against, "trainings": trainings}, contrast)


def speed(name: str, file: Path) -> None:
    """Keep the ratios of a machine's speed beside peers, of rows that have one."""
    whole = json.loads(file.read_text("utf-8"))
    rows = []
    for key, row in whole["rows"].items():
        peers = {peer["against"] for peer in row["comparisons"]} - {"the machine's limit"}
        subset = "smaller inputs" if row["settings"]["quick"] else ""
        for peer in row["comparisons"] if peers else ():
            facts = {
                "variant": row["work"],
                "label": key,
                "subset": subset,
                "against": peer["against"],
            }
            goal = {"margin": peer["goal"], "answer": peer["answer"]}
            for clock in ("processor", "wall"):
                ratio = {
                    "value": peer[clock]["median"],
                    **{end: peer[clock][end] for end in ("low", "high")},
                }
                rows.append(
                    {**facts, **goal, **ratio, "measure": f"{clock} seconds", "statistic": "ratio"}
                )
    path = file.resolve().relative_to(HERE.parent).as_posix()
    command = f"python benchmarks/run.py --data FOLDER --environments FOLDER --out {path}"
    machine = whole["machine"]
    named = (
        f"{machine['processor']}, {machine['cores']} cores ({', '.join(machine['instructions'])})"
    )
    origin = {"command": command, "source": path, "machine": named}
    write(name, framed(rows), **origin, commit=_commit("--", path))


COLUMN_OF = {  # of cells in a benchmark's table that say what the others are of, by heading
    **dict.fromkeys(("", "validations", "controls", "measure"), "label"),
    **dict.fromkeys(("system", "score", "curve"), "model"),
    **dict.fromkeys(("contaminated", "rule", "bank"), "variant"),
    "against": "against",
    "pools": "pool",
    "share of test queries": "share",
}
NUMBER = re.compile(r"[+\-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]\d+)?(?:\s?%)?")
BETWEEN = re.compile(r"(?:[\s\[\](),/]|\bof\b|\bpairs\b)*")
COMMAND = re.compile(r"(?:^    |`)((?:\w+=\d+ )?python benchmarks/[^`\n]+)", re.MULTILINE)


def benchmark(name: str, file: Path, *titles: str) -> None:
    """Keep tables of a benchmark, those of these sections or headings, or all: a row a cell."""
    text, path = file.read_text("utf-8"), file.resolve().relative_to(HERE.parent).as_posix()
    command = COMMAND.search(text)
    assert command, f"{path}: no line of it is the benchmark's command, python benchmarks/…"
    origin = {"command": command[1], "source": path, "titles": titles}
    write(name, framed(rows_of_tables(text, titles)), **origin, commit=_commit("--", path))


def rows_of_tables(text: str, titles: Sequence[str]) -> Iterator[Row]:
    """Return a row for each cell of Markdown tables; its heading is the measure."""
    section, heads = "", []
    for line in text.splitlines():
        if not line.startswith("|"):
            section, heads = (line.lstrip("# ") if line.startswith("#") else section), []
            continue
        cells = [cell.strip() for cell in re.split(r"(?<= )\|(?= )", line[1:-1])]
        if not heads:
            heads = cells
        elif set(line) - set("|:- ") and (not titles or {section, *heads} & set(titles)):
            pairs = list(zip(heads, cells, strict=True))
            labels = {COLUMN_OF[head]: cell for head, cell in pairs if head in COLUMN_OF}
            for head, cell in pairs:
                if head not in COLUMN_OF and cell not in ("", "–"):
                    place = {**labels, "subset": section, "measure": head}
                    yield from ({**place, **numbers} for numbers in _numbers(cell))


def _numbers(cell: str) -> Iterator[Row]:
    """Return "0.1 [0.0, 0.2], 50" as value, low, high and count, and "1 / 2" as two values."""
    texts = NUMBER.findall(cell)
    if not texts or not BETWEEN.fullmatch(NUMBER.sub("", cell)):
        yield {"answer": cell}
        return
    scale = 0.01 if "%" in texts[0] else 1.0
    plain = [float(text.rstrip("% ").replace(",", "").replace("−", "-")) for text in texts]
    numbers = [round(scale * number, 10) for number in plain]
    if "/" in cell:
        for place, number in enumerate(numbers, 1):
            yield {"value": number, "axis": "part", "at": float(place)}
    elif "pairs" in cell or "of" in cell.split():
        yield {"value": numbers[0], "count": int(plain[1])}
    elif len(numbers) == 2:
        yield {"value": numbers[0], "low": numbers[1]}
    else:
        ends = dict(zip(("value", "low", "high"), numbers, strict=False))
        yield {**ends, **({"count": int(plain[3])} if len(plain) > 3 else {})}


if __name__ == "__main__":
    kind, name, place, *more = sys.argv[1:]
    kept = {"rows": chosen_rows, "results": results, "benchmark": benchmark, "placed": placed}
    kept["speed"] = speed
    kept[kind](name, Path(place), *more)
