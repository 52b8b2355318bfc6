"""The code blocks of README and docs: what a reader would type, in the order of the page."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_BLOCK = re.compile(
    r"^(?P<heading>#.*)|^(?:    |\t).*(?:\n(?:    "
    r"|\t).*)*|^```(?P<language>\w*)\n(?P<fenced>(?:(?!```).*\n)*)",
    re.MULTILINE,
)
_ACTS = (ast.Import, ast.ImportFrom, ast.Call, ast.Assign)


class Code(NamedTuple):
    """A line that begins with ``posbias``, or a block of Python, and the number of headings above
    it.
    """

    text: str
    python: bool
    section: int


def codes(page: Path) -> Iterator[Code]:
    """Yield the page's commands and Python blocks; what is printed, and commands of others, are
    neither.
    """
    section = 0
    for found in _BLOCK.finditer(page.read_text("utf-8")):
        if found["heading"]:
            section += 1
            continue
        block = textwrap.dedent(found[0] if found["fenced"] is None else found["fenced"])
        if commands := list(_commands(block)):
            yield from (Code(command, False, section) for command in commands)
        elif found["language"] in (None, "python") and _is_python(block):
            yield Code(block, True, section)


def _commands(block: str) -> Iterator[str]:
    """Yield a block's commands without comments; lines that end in a backslash are joined."""
    for line in block.replace("\\\n", " ").splitlines():
        for part in re.split(r"&&|\|(?!\w)|;", line.partition("  #")[0]):
            command = part.strip().removesuffix(">").split(" > ")[0].strip()
            if command.startswith("posbias ") and "…" not in command and "..." not in command:
                yield command


def _is_python(block: str) -> bool:
    try:
        tree = ast.parse(block)
    except SyntaxError:
        return False
    return any(isinstance(node, _ACTS) for node in ast.walk(tree))
