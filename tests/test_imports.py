"""Who may import whom: the table of ARCHITECTURE.md, held for every module by reading its syntax
tree.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

import positionbias

PACKAGE = Path(positionbias.__file__).parent
ARCHITECTURE = PACKAGE.parent / "ARCHITECTURE.md"
HEADING = "## Parts"
TORCH = {"torch", "transformers", "accelerate"}


class Rule(NamedTuple):
    """One part's row: the parts or modules it may import; whether it, or only which of its modules,
    may import torch.
    """

    may_import: frozenset[str]
    torch: bool | str


class Import(NamedTuple):
    """One import statement's target, and whether it stands inside a function."""

    target: str
    line: int
    lazy: bool


def read_table() -> dict[str, Rule]:
    """The rows of ARCHITECTURE.md's table by part.

    Column 3: parts or modules by comma, up to a semicolon; brackets are remarks; "–" and "nothing"
    are none; "all above" and "all" are what they say. Column 4: "no", "yes" (or empty), or "only
    `module`, lazily".
    """
    section = ARCHITECTURE.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in section.splitlines()
        if "|" in line
    ]
    rules: dict[str, Rule] = {}
    everything = frozenset(part.strip() for row in rows[2:] for part in row[0].split(","))
    for parts, _, named, torch in rows[2:]:
        named = re.sub(r"\(.*?\)", "", named.partition(";")[0]).strip()
        if named == "all":
            may_import = everything
        elif named == "all above":
            may_import = frozenset(rules)
        else:
            may_import = frozenset(item.strip() for item in named.split(",")) - {"nothing", "–", ""}
        only = re.match(r"only `(\w+)`, lazily", torch)
        assert only or torch in ("yes", "no", ""), (
            f"{parts}: cannot read the torch column {torch!r}"
        )
        for part in parts.split(","):
            rules[part.strip()] = Rule(may_import, only[1] if only else torch != "no")
    return rules


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(
        ".__init__"
    )


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def statements(node: ast.AST, *, lazy: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Every statement inside a node, and whether it stands inside a function."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield child, lazy
            inside = lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from statements(child, lazy=inside)


@cache
def imports_of(name: str) -> tuple[Import, ...]:
    """Every import statement of a module, at any depth, as the full name of what is imported."""
    found: list[Import] = []
    package = name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]
    for node, lazy in statements(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [Import(alias.name, node.lineno, lazy) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                around = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*around, *([base] if base else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                if base == "positionbias":
                    full = positionbias.module_of(alias.name) or full
                target = full if full in MODULES or base == "positionbias" else base
                found.append(Import(target, node.lineno, lazy))
    return tuple(found)


def part_of(module: str) -> str:
    """positionbias.core.run → core; the package itself → the empty string."""
    return module.split(".")[1] if "." in module else ""


INSIDE = sorted(name for name in MODULES if part_of(name))


def test_a_part_imports_only_what_the_table_allows() -> None:
    rules, wrong = read_table(), []
    assert {part_of(name) for name in INSIDE} <= rules.keys(), f"no row in {ARCHITECTURE.name}"
    for name in INSIDE:
        part = part_of(name)
        below = {"core", "engine"} if part != "core" else {"core"}
        allowed = {*below, part, *rules[part].may_import}
        for item in imports_of(name):
            if (
                not item.target.startswith("positionbias.")
                or item.target == "positionbias.__version__"
            ):
                continue
            target = item.target.removeprefix("positionbias.")
            if not any(target == other or target.startswith(f"{other}.") for other in allowed):
                wrong.append(f"{MODULES[name].relative_to(PACKAGE)}:{item.line} imports {target}")
    assert wrong == []


def test_torch_is_imported_only_where_the_table_says() -> None:
    rules = read_table()
    wrong = [
        f"{MODULES[name].relative_to(PACKAGE)}:{item.line} imports {item.target}"
        for name in INSIDE
        if (torch := rules[part_of(name)].torch) is not True
        for item in imports_of(name)
        if item.target.partition(".")[0] in TORCH
        and not (item.lazy and torch == name.rpartition(".")[2])
    ]
    assert wrong == []


@cache
def targets() -> dict[str, set[str]]:
    return {name: {item.target for item in imports_of(name)} for name in INSIDE}


@cache
def users_of(module: str) -> set[str]:
    """The parts, papers one by one, that use a module of ``report``, themselves or through others
    of its modules.
    """
    presentations = import_module("positionbias.report.presentation").SHOWN
    named = ["report.page", *presentations]
    shown = module in {f"positionbias.{name}" for name in named}
    users = {"the page or the terminal"} if shown else set()
    for name in INSIDE:
        if module in targets()[name]:
            of_paper = part_of(name) == "papers"
            users |= (
                users_of(name)
                if part_of(name) == "report"
                else {name.split(".")[2] if of_paper else part_of(name)}
            )
    return users


def test_no_module_of_the_report_is_one_subjects_own() -> None:
    own = {
        *{part_of(name) for name in INSIDE} - {"cli", "ops"},
        *(name.split(".")[2] for name in INSIDE if ".papers." in name),
    }
    users = {name: users_of(name) for name in INSIDE if name.startswith("positionbias.report.")}
    assert {name: who for name, who in users.items() if len(who) < 2 and who <= own} == {}


def test_there_are_no_cycles() -> None:
    graph = {
        name: {
            item.target
            for item in imports_of(name)
            if item.target in MODULES and part_of(item.target)
        }
        for name in INSIDE
    }
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the cycle
    parts = {
        part: {part_of(target) for name in graph if part_of(name) == part for target in graph[name]}
        - {part}
        for part in map(part_of, graph)
    }
    TopologicalSorter(parts).prepare()


def test_the_reader_of_imports_sees_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
import torch.nn
from positionbias import rotate, __version__
from positionbias.core import run
from . import words
from .words import tokenize
def late():
    from positionbias.models.tk import Tk
"""
    path = tmp_path / "sample.py"
    path.write_text(source)
    monkeypatch.setitem(MODULES, "positionbias.text.sample", path)
    assert [(item.target, item.lazy) for item in imports_of("positionbias.text.sample")] == [
        ("torch.nn", False),
        ("positionbias.positions.rotate", False),
        ("positionbias.__version__", False),
        ("positionbias.core.run", False),
        ("positionbias.text.words", False),
        ("positionbias.text.words", False),
        ("positionbias.models.tk", True),
    ]
