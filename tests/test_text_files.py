"""Text files have the same bytes on every system: each is opened with its encoding, and written
with its line ends.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import positionbias

PACKAGE = Path(positionbias.__file__).parent
WRITES, READS = {"write_text", "TextIOWrapper"}, {"read_text"}
OPENS = {"open", "fdopen", "NamedTemporaryFile", "TemporaryFile"}


def called(call: ast.Call) -> tuple[str, str]:
    """The object and the name of what is called."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return ast.unparse(function.value), function.attr
    return "", function.id if isinstance(function, ast.Name) else ""


def faults(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    if not any(name in text for name in OPENS | WRITES | READS):
        return
    for call in [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]:
        owner, name = called(call)
        named = {word.arg for word in call.keywords}
        modes = [value.value for value in (*call.args,
            *(word.value for word in call.keywords if word.arg == "mode"))
                 if isinstance(value, ast.Constant) and isinstance(value.value, str)
                 and set(value.value) <= set("rwxabt+")]  # fmt: skip
        mode = modes[0] if modes else "r"
        # other methods of this name give no mode
        if name in OPENS and "b" not in mode and (not owner or modes):
            if name.endswith("TemporaryFile") and not modes:
                continue  # binary by default
            wanted = {"encoding"} | ({"newline"} if set(mode) & set("wxa") else set())
        elif name in WRITES and owner != "formatter":  # of help, which is no file
            wanted = {"newline"} | ({"encoding"} if len(call.args) < 2 else set())
        elif name in READS:
            wanted = set() if call.args else {"encoding"}
        else:
            continue
        if missing := wanted - named:
            yield (
                f"{path.relative_to(PACKAGE)}:{call.lineno}: {name} without "
                f"{', '.join(sorted(missing))}"
            )


def test_every_text_file_is_opened_with_its_encoding_and_written_with_its_line_ends() -> None:
    assert [fault for path in sorted(PACKAGE.rglob("*.py")) for fault in faults(path)] == []
