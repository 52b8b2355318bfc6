"""How the code is built, in numbers: lines a folder, untyped places, long parameter lists, repeated defaults.

    python benchmarks/structure.py [CHECKOUT]          this checkout by default; another to compare with

Counts are of files ending in .py below ``positionbias``. A repeated default is a literal default of a click option.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["figures", "folders"]

UPPER = ("cli", "report", "studies")
FEW_LINES = 60


def _sources(package: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(package.rglob("*.py")):
        yield path.relative_to(package), path.read_text(encoding="utf-8")


def folders(package: Path) -> dict[str, int]:
    """Lines by folder."""
    lines: Counter[str] = Counter()
    for path, text in _sources(package):
        lines[path.parts[0] if len(path.parts) > 1 else "."] += text.count("\n")
    return dict(sorted(lines.items()))


def figures(package: Path) -> dict[str, float]:
    """The figures that say how much of the code is untyped or said twice."""
    texts = dict(_sources(package))
    trees = {path: ast.parse(text) for path, text in texts.items()}
    functions = [
        node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    code = [line for text in texts.values() for line in text.splitlines() if line.strip()]
    return {
        "lines": sum(text.count("\n") for text in texts.values()),
        "lines of cli, report and studies": sum(folders(package).get(name, 0) for name in UPPER),
        "files": len(texts),
        f"files under {FEW_LINES} lines": sum(text.count("\n") < FEW_LINES for text in texts.values()),
        "characters a line that is not empty": round(sum(len(line.strip()) for line in code) / len(code), 1),
        "places that say [str, Any]": sum(text.count("[str, Any]") for text in texts.values()),
        "payloads Statistics(rows)": sum(text.count("Statistics(") for text in texts.values()),
        "imports of report in studies": sum(
            text.count("from positionbias.report") for path, text in texts.items() if path.parts[0] == "studies"
        ),
        "functions of over 8 parameters": sum(_parameters(node) > 8 for node in functions),
        "functions of over 40 lines": sum((node.end_lineno or node.lineno) - node.lineno >= 40 for node in functions),
        "literal defaults of options": sum(_literal_defaults(tree) for path, tree in trees.items() if path.parts[0] == "cli"),
        "lines of __post_init__": sum(
            (node.end_lineno or node.lineno) - node.lineno for node in functions if node.name == "__post_init__"
        ),
    }


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    of = node.args
    return len(of.posonlyargs) + len(of.args) + len(of.kwonlyargs)


def _literal_defaults(tree: ast.AST) -> int:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("click.option"))
    return sum(
        word.arg == "default" and isinstance(word.value, ast.Constant) and word.value.value is not None
        for call in calls
        for word in call.keywords
    )


def _table(rows: Mapping[str, float]) -> str:
    return "\n".join(f"| {name} | {value:,} |" for name, value in rows.items())


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    print("| | |\n|---|---:|")
    print(_table(figures(place / "positionbias")))
    print(_table({f"lines of {name}/": count for name, count in folders(place / "positionbias").items()}))
