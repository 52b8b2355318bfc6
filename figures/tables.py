"""Make the tables of README and docs from the rows in ``numbers/``: ``python figures/tables.py``.

A table stands between ``<!-- table NAME -->`` and ``<!-- end of table -->``. ``tables.toml``
declares most: a cell shows the row that has what its line and its column say.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import pandas
from pandas import DataFrame, Series

from positionbias.core.rows import read_csv
from positionbias.leakage.semantic import THRESHOLDS
from positionbias.text.formatting import NBSP, as_form

__all__ = ["NUMBERS", "PAGES", "PRICES", "TABLES", "only", "rows", "with_tables"]

HERE = Path(__file__).parent
NUMBERS = HERE / "numbers"
PAGES = (
    HERE.parent / "README.md",
    HERE / "README.md",
    *sorted((HERE.parent / "docs").glob("*.md")),
)
MARKED = re.compile(r"(?<=<!-- table )(\w+)( -->\n).*?(?=<!-- end of table -->)", re.DOTALL)
BARE = re.compile(rf"[+−]?[\d,.]+(?:{NBSP}%)?|–|")
DECLARED = tomllib.loads((HERE / "tables.toml").read_text("utf-8"))
SHAPES = DECLARED.pop("shapes")
COSINES = {encoder: as_form(cosine, ".4f") for encoder, cosine in THRESHOLDS.items()}


@cache
def rows(name: str) -> DataFrame:
    """Return the kept rows of this name."""
    return read_csv(NUMBERS / f"{name}.csv")


def only(frame: DataFrame, **where: Any) -> DataFrame:
    """Return the rows with these cells; a list is any of them."""
    for column, cell in where.items():
        frame = frame[frame[column].isin(cell if isinstance(cell, list) else [cell])]
    return frame


class Number(float):
    """A number in the package's own forms: ``.3f``, ``+.1%``; ``.1p`` is a bare ``.1%``."""

    def __format__(self, form: str) -> str:
        text = as_form(self, form.replace("p", "%"))
        return text.removesuffix(f"{NBSP}%") if "p" in form else text


def render(row: Series, shape: str) -> str:
    """Return a row in a shape, or its answer if it has no value; without bounds no brackets."""
    shape = SHAPES.get(shape, shape)
    if pandas.isna(row["value"]) and "{value" in shape:
        return str(row["answer"])
    if pandas.isna(row["low"]):
        shape = shape.partition(" [")[0]
    numbers = {name: Number(row[name]) for name in ("value", "low", "high")}
    return shape.format(**numbers, **{name: row[name] for name in ("count", "trainings", "answer")})


def cell(frame: DataFrame, shape: str, missing: str = "", between: str = "") -> str:
    """Return rows in a shape: of two trainings, which have no interval, the mean and each.

    Raises:
        ValueError: several rows, and nothing to set between them.
    """
    single = frame["axis"] == "training"
    texts, each = (
        [render(row, shape) for row in part.iloc] for part in (frame[~single], frame[single])
    )
    if len(texts) > 1 and not between:
        raise ValueError(f"several rows in a cell: {texts}")
    brackets = f" ({', '.join(each)})" if each else ""
    return f"{between.join(texts)}{brackets}" if texts else missing


def declared(name: str) -> list[str]:
    """Return a table that is declared in ``tables.toml``."""
    table = DECLARED[name]
    frame = pandas.concat([rows(file).assign(study=file) for file in table["rows"]])
    frame, missing = only(frame, **table.get("where", {})), table.get("missing", "")
    keys = table.get("by", [])
    by = {"; ".join(cells): dict(zip(keys, cells, strict=True)) for cells in frame[keys].to_numpy()}
    lines = []
    for label, where in table.get("lines", by).items():
        texts = [text.strip().format(**COSINES) for text in label.split("; ")]
        for column in table["columns"].values():
            parts = column if isinstance(column, list) else [column]
            texts.append(
                "".join(_part(frame, {"missing": missing, **where, **part}) for part in parts)
            )
        lines.append(texts)
    return markdown([*table["heads"], *(head.strip() for head in table["columns"])], lines)


def _part(frame: DataFrame, where: Mapping[str, Any]) -> str:
    looks = {name: where[name] for name in ("shape", "missing", "between") if name in where}
    cells = {name: content for name, content in where.items() if name not in looks}
    return cell(only(frame, **cells), **looks)


def markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """Return a table in Markdown; columns of bare numbers are flush right."""
    bare = [all(BARE.fullmatch(text) for text in column) for column in zip(*lines, strict=True)]
    rule = "|".join("---:" if right else "---" for right in bare)
    return [f"| {' | '.join(heads)} |", f"|{rule}|", *(f"| {' | '.join(line)} |" for line in lines)]


# docs/results.md

MODELS = {"bert_cat": "BERT_CAT", "bert_dot": "BERT_DOT", "tk": "TK"}


def placed(study: str, arms: Sequence[str]) -> list[str]:
    """Models trained on real text whose positions were set, with the audits of every training."""
    of_study = only(rows("placed"), collection=study)
    heads = ["model", "trained on", "above BM25 on validation", f"nDCG@10, {arms[0]} test"]
    heads += [*(f"{arm} test" for arm in arms[1:]), "front → rotated", "above BM25, uniform test"]
    heads += [
        "audit, within what it reads: end − front, deviations by seed",
        "place in the passage",
        "end − front, over all texts",
    ]
    lines = []
    for model, arm in product(MODELS, arms):
        if len(trained := only(of_study, model=model, training=arm)):  # else it is not done
            lines.append([MODELS[model], *_arm(trained, arm, arms)])
    return markdown(heads, lines)


def _arm(frame: DataFrame, arm: str, arms: Sequence[str]) -> list[str]:
    """Return a line's cells; no mean takes finished and unfinished trainings together."""
    trainings = only(frame, split="validation")
    late = trainings[~trainings["finished"]]["seed"].tolist()
    parted = 0 < len(late) < len(trainings)
    ended = f"{arm}, {f'seed {late[0]} ' if parted else ''}not finished" if late else arm
    beats = sum(trainings["answer"] == "above BM25")
    tests = only(frame, split="test")
    means = only(tests[(tests["seed"] > -1) == parted], statistic="mean")
    lost = only(tests, test="rotated", against="test=front", statistic="relative")
    above = only(tests, test="uniform", against="model=bm25", statistic="difference")
    if parted:
        lost, above = (only(change, axis="training").assign(axis="") for change in (lost, above))
    each = {"between": ", "}
    changes = [cell(lost, "relative", **each), cell(above, "change", **each)]
    effects = only(frame, measure="end − front").assign(low=float("nan"))
    read, whole = (cell(only(effects, subset=subset), "change", **each) for subset in ("read", ""))
    answers = only(frame, statistic="verdict")["answer"].str.partition(", ")[0]
    shares = answers.value_counts(sort=False).items()
    places = ", ".join(f"{answer} ({number} of {len(answers)})" for answer, number in shares)
    cells = [
        ended,
        f"{beats} of {len(trainings)}",
        *(cell(only(means, test=test), "3", **each) for test in arms),
    ]
    return [*cells, *(changes if beats else ["BM25's order"] * 2), read, places, whole]


# docs/remedies.md

MEASURES = {  # with decimals
    "nDCG@10": ("nDCG@10 on original passages", 3),
    "moved sentence, end − front": ("size of the effect of a moved sentence", 2),
}
PRICES = {  # in the order of tables
    "rotated once": "none",
    "rotated at reading": "none",
    "shuffled at reading": "none",
    "consistent under rotation": "reads twice in training",
    "taught by rotations": "trains twice; the teacher reads 4 times",
    "random offsets": "none",
    "no positions": "none",
    "relative positions": "none",
    "rotate:4 at inference": "reads 4 times",
    "rotate-max:4 at inference": "reads 4 times",
    "segments-max:3 at inference": "reads once, in parts",
}


def remedies(name: str) -> list[str]:
    """What each remedy does to quality and to bias, where intervals speak of it."""
    frame, heads = rows(name), ["remedy"]
    known = frame[(frame["statistic"] == "difference") & frame["low"].notna()]["variant"]
    lines = [[variant] for variant in PRICES if variant in set(known)]
    before = ["no remedy"]
    for measure, (head, places) in MEASURES.items():
        heads += [head, "less that without a remedy"]
        mean, change = (SHAPES[shape].replace(".3f", f".{places}f") for shape in ("3", "change"))
        chosen = only(frame, measure=measure, axis="")
        before += [cell(only(chosen, statistic="baseline mean", variant=lines[0][0]), mean), "–"]
        for line in lines:
            remedied = only(chosen, variant=line[0])
            line.append(cell(only(remedied, statistic="candidate mean"), mean))
            line.append(cell(only(remedied, statistic="difference"), change))
    return markdown(
        [*heads, "price"], [[*before, ""], *([*line, PRICES[line[0]]] for line in lines)]
    )


# README.md and docs/results.md: speed

LIMIT = "the machine's limit"
CHOSEN = (  # what users choose between
    *("rerank_f32", "rerank_bf16", "encode_f32", "encode_bf16", "rerank_colbert", "audit"),
    *("train_bert_cat", "train_tk_f32", "search_200k", "bm25_50k", "evaluate"),
)


def _ratios(name: str) -> DataFrame:
    """Return a line for each work and peer, with the row of each clock."""
    frame = rows(name)
    clocks = [
        only(frame, measure=f"{clock} seconds").reset_index() for clock in ("processor", "wall")
    ]
    return clocks[0].assign(
        processor=[render(row, "ratio") for row in clocks[0].iloc],
        wall=[render(row, "ratio") for row in clocks[1].iloc],
        least=clocks[0]["value"].clip(upper=clocks[1]["value"]),
        work=clocks[0]["variant"] + clocks[0]["subset"].map(lambda text: text and f" (on {text})"),
    )


def peers() -> list[str]:
    """Each chosen work beside the peer that comes nearest by either clock, then the others."""
    frame, lines = _ratios("speed"), []
    for name in CHOSEN:
        beside = only(frame, label=name).sort_values("least", kind="stable")
        beside = beside[beside["against"] != LIMIT]
        if len(beside):
            medians = (
                beside[["processor", "wall"]]
                .map(lambda text: text.split()[0])
                .agg(" / ".join, axis=1)
            )
            others = beside["against"].str.cat(medians, sep=" ")[1:]
            cells = beside.iloc[0][["work", "against", "processor", "wall"]]
            lines.append([*cells, ", ".join(others) or "–"])
    return markdown(
        ["work", "fastest peer", "processor seconds", "on the clock", "the others"], lines
    )


def speed() -> list[str]:
    """All works of each machine, with goals and shares of what it multiplies."""
    machines = json.loads((NUMBERS / "manifest.json").read_text("utf-8"))
    made: list[str] = []
    for name in ("speed", "speed_amx"):
        lines = []
        for row in _ratios(name).iloc:
            goal = "–" if pandas.isna(row["margin"]) else f"≥ {row['margin']:g}"
            cells = [row[key] for key in ("work", "against", "processor", "wall")]
            lines.append([*cells, goal, row["answer"]])
        heads = ["work", "against", "processor seconds: ratio", "on the clock", "goal", "answer"]
        made += [f"{machines[name]['machine']}:", "", *markdown(heads, lines), ""]
    return made[:-1]


# figures/README.md

PANELS = {
    f"{data}, {rotation}": rf"{name}{suffix}"
    for name, data in (("msmarco", "MS MARCO"), ("squad", "SQuAD"))
    for suffix, rotation in (
        ("", "original"),
        (r"-words-\d+", "word-rotated"),
        (r"-sentences-\d+", "sentence-rotated"),
    )
}


def positions() -> list[str]:
    """Where answers sit before and after rotation; of draws the mean, lowest and highest."""
    heads = ["", "draws", "share in the first tenth", "if unbiased", "mean position", "if unbiased"]
    heads += ["total variation", "by chance alone, 95 % below", "draws beyond that"]
    lines = []
    for title, pattern in PANELS.items():
        frame = rows("figure-1")
        frame = frame[frame["collection"].str.fullmatch(pattern)]
        values, expected = [], []
        for measure in ("first tenth", "mean", "total variation"):
            drawn = only(frame, measure=measure, statistic="mean")
            if len(drawn) > 1:
                ends = {"low": drawn["value"].min(), "high": drawn["value"].max()}
                drawn = (
                    drawn.mean(numeric_only=True).to_frame().T.assign(axis="", answer="", **ends)
                )
            values.append(cell(drawn, "interval"))
            expected.append(as_form(drawn["expected"].iloc[0], ".3f"))
        variation = only(frame, measure="total variation").pivot(
            index="collection", columns="statistic", values="value"
        )
        beyond = (variation["mean"] > variation["by chance"]).sum()
        chance = as_form(variation["by chance"].mean(), ".3f")
        cells = [values[0], expected[0], values[1], expected[1], values[2], chance, str(beyond)]
        lines.append([title, str(len(variation)), *cells])
    return markdown(heads, lines)


TABLES: Mapping[str, Callable[[], list[str]]] = {
    **{name: partial(declared, name) for name in DECLARED},
    "levels": partial(placed, "levels", ("front", "half", "uniform", "rotated")),
    "peers": peers,
    "placed": partial(placed, "squad", ("front", "uniform", "rotated")),
    "positions": positions,
    "remedies_placed": partial(remedies, "remedies-placed"),
    "remedies_planted": partial(remedies, "remedies-planted"),
    "speed": speed,
}


def with_tables(page: str) -> str:
    """Return a page with every marked table made anew.

    Raises:
        KeyError: a table of another name.
    """
    return MARKED.sub(
        lambda mark: f"{mark[1]}{mark[2]}\n" + "\n".join(TABLES[mark[1]]()) + "\n\n", page
    )


if __name__ == "__main__":
    for place in PAGES:
        place.write_text(with_tables(place.read_text("utf-8")), "utf-8")
