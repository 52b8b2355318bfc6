"""The numbers behind the committed figures and tables, and the tables that are made of them.

    python figures/kept_numbers.py keep NAME RESULTS [MEASURE]    # writes figures/numbers/NAME.json from a folder of results, or from those of one measure
    python figures/kept_numbers.py tables                         # writes the tables between "<!-- table NAME -->" and "<!-- end of table -->"

What is kept of results: everything but the values of single queries, examples, and what was found in words. A test holds the tables to the numbers.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from positionbias.core.formatting import count, decimal
from positionbias.core.manifest import read_manifest
from positionbias.core.result import load_results

__all__ = ["TABLES", "keep", "numbers", "with_tables"]

HERE = Path(__file__).parent
NUMBERS = HERE / "numbers"
PAGES = (HERE.parent / "README.md", HERE / "README.md")
LEFT_OUT = ("finding", "examples")
_TABLE = re.compile(r"(?<=<!-- table )(\w+)( -->\n).*?(?=<!-- end of table -->)", re.DOTALL)


def keep(name: str, place: Path, measure: str = "") -> None:
    """Write the numbers of a folder of results, with the command's name, its settings and the commit that this is."""
    manifest = read_manifest(place)
    rows = [
        one.to_json(items=False) for one in load_results(place) if one.kind not in LEFT_OUT and measure in ("", one.measure)
    ]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()
    record = {"command": manifest.command, "settings": manifest.settings, "commit": commit, "results": _rounded(rows)}
    NUMBERS.mkdir(exist_ok=True)
    (NUMBERS / f"{name}.json").write_text(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")


def _rounded(value: Any) -> Any:
    """Floats to seven figures."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, Mapping):
        return {key: _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value


def numbers(name: str) -> list[dict[str, Any]]:
    """The results that were kept under a name, as JSON."""
    return list(json.loads((NUMBERS / f"{name}.json").read_text("utf-8"))["results"])


def _verdict(name: str, system: str, question: str) -> Mapping[str, Any]:
    """A system's verdict on its places in the passage, or in the list."""
    return next(
        row["payload"]
        for row in numbers(name)
        if row["measure"] == "verdict" and row["system"] == system and row["payload"]["question"] == question
    )


def _effect(verdict: Mapping[str, Any], contrast: str, unit: str, *, read: bool = False) -> str:
    wanted = (contrast, unit, "read" if read else "")
    for one in verdict["effects"]:
        if (one["contrast"], one["unit"], one["subset"]) == wanted:
            value, low, high = (decimal(one[key], 3, sign=True) for key in ("value", "low", "high"))
            return f"{value} [{low}, {high}]"
    return "–"


AUDITS = (
    ("audit-list-first", "myscorers:first", "a function that returns −i for the i-th passage"),
    ("audit-list-last", "myscorers:last", "a function that returns +i"),
    ("audit-random", "myscorers:rnd", "a random function, not seeded"),
    ("audit-bm25", "bm25", "BM25, from two runs"),
    ("squad-audit", "minilm", "all-MiniLM-L6-v2"),
    ("planted-audit", "tk-original-seed-1", "the demo's TK trained on original passages"),
    ("planted-audit", "tk-rotated-1-seed-1", "the demo's TK trained on rotated passages"),
)


def audits() -> list[str]:
    """The verdicts of several audits, with their effects."""
    lines = [
        "| audited | queries | place in the passage | end − front, deviations | middle − ends | by rotation | end − front, nDCG@10 | order of the list |",
        "|---|---:|---|---|---|---|---|---|",
    ]
    for name, system, label in AUDITS:
        passage = _verdict(name, system, "position in the passage")
        read = any(one["subset"] == "read" for one in passage["effects"])
        effects = [
            _effect(passage, contrast, "deviations", read=read)
            for contrast in ("end − front", "middle − ends", "rotated to the end − to the front")
        ]
        quality = _effect(passage, "end − front", "nDCG@10", read=read)
        if quality == "–":
            quality = _effect(passage, "two runs: moved to the end − to the front", "nDCG@10")
        exceeds = {True: "", False: ", perhaps within the margin", None: ""}[passage["exceeds"]]
        answer = f"{passage['preference']}{exceeds}{', within what it reads' if read else ''}"
        order = "–"
        if name != "audit-bm25":
            listed = _verdict(name, system, "order in the list")
            ranks = [one for one in listed["effects"] if one["contrast"] == "first to last place in the list"]
            order = listed["preference"] + (f", {decimal(ranks[0]['value'], 1, sign=True)} ranks" if ranks else "")
        lines.append(f"| {label} | {count(passage['queries'])} | {answer} | {' | '.join(effects)} | {quality} | {order} |")
    return lines


TABLES: Mapping[str, Callable[[], list[str]]] = {"audits": audits}


def with_tables(page: str) -> str:
    """A page with every marked table made anew.

    Raises:
        KeyError: a table of another name.
    """
    return _TABLE.sub(lambda found: f"{found[1]}{found[2]}\n" + "\n".join(TABLES[found[1]]()) + "\n\n", page)


if __name__ == "__main__":
    if sys.argv[1] == "keep":
        keep(sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
    else:
        for place in PAGES:
            place.write_text(with_tables(place.read_text("utf-8")), "utf-8")
