"""Docstrings in the reference: blocks of code as code, settings linked to, and their fields
listed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from types import SimpleNamespace
from typing import Any, get_type_hints

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, GoogleDocstring

from positionbias import settings
from positionbias.core.settings import settings_of
from positionbias.ops.operation import parameters_of

_SECTION = re.compile(r"(Args|Returns|Raises|Example):$")
_LITERAL_OR_STAR = re.compile(r"(``.*?``)|\*")
_MARK = re.compile(r" ?\[decision\]")  # of what a paper leaves open: for those who work on the code
_NAPOLEON = Config(napoleon_numpy_docstring=False)


def setup(app: Sphinx) -> None:
    """Have docstrings and signatures shown so."""
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("autodoc-process-signature", _signature)
    app.connect("doctree-resolved", _with_dashes)


def _signature(
    _app: Sphinx, _what: str, name: str, obj: Any, _: Any, signature: str | None, *__: Any
) -> tuple[str, str] | None:
    """Leave out a signature that nobody types: of settings, whose fields follow, and of what
    functions return.
    """
    return ("", "") if _of_settings(name, obj) or "<factory>" in (signature or "") else None


def _of_settings(name: str, obj: Any) -> bool:
    return name.startswith("positionbias.settings.") and is_dataclass(obj)


def _docstring(_app: Sphinx, what: str, name: str, obj: Any, _: Any, lines: list[str]) -> None:
    lines[:] = [_MARK.sub("", line) for line in lines]
    begins = next((number for number, line in enumerate(lines) if _SECTION.match(line)), len(lines))
    head, sections = list(_with_code(lines[:begins])), lines[begins:]
    if what == "function" and hasattr(obj, "__wrapped__"):
        sections = [*_arguments(obj), *sections[sections.index("Returns:") :]]
    elif _of_settings(name, obj):
        sections = [*_fields(obj), *sections]
    # whose words before a colon it takes for their type
    what = "function" if what in ("attribute", "property") else what
    lines[:] = GoogleDocstring([*head, "", *sections], _NAPOLEON, what=what).lines()


def _with_code(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines, with a directive before each indented block; elsewhere a star, as in
    qrels/*.tsv, begins no emphasis.
    """
    inside = False
    for line in lines:
        if line.startswith("    ") and not inside:
            yield from (".. code-block:: python" if "(" in line else ".. code-block:: console", "")
        inside = line.startswith("    ") or (inside and not line)
        yield line if inside else _LITERAL_OR_STAR.sub(lambda found: found[1] or r"\*", line)


def _arguments(obj: Any) -> Iterator[str]:
    """Yield the section on an operation's arguments: of settings, a link to their class."""
    hints, own = (
        _hints(inspect.unwrap(obj)),
        {one.name: one.setting.help for one in parameters_of(obj) if not one.owner},
    )
    yield "Args:"
    for name in inspect.signature(obj).parameters:
        yield f"    {name}: {own[name] if name in own else f'Settings, {_link(hints[name])}.'}"
    yield ""


def _hints(function: Any) -> dict[str, Any]:
    """Return the types of a function's parameters; that of what it returns may be imported by
    nobody.
    """
    taken = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    return get_type_hints(SimpleNamespace(__annotations__=taken), function.__globals__)


def _fields(kind: Any) -> list[str]:
    """Return the section on a settings class's fields: those that are declared, and settings in
    it.
    """
    declared, hints, told = settings_of(kind), get_type_hints(kind), []
    for field in fields(kind):
        of, hint = declared.get(field.name), hints[field.name]
        if is_dataclass(hint) and hasattr(settings, hint.__name__):
            told.append(f"    {field.name}: Settings, {_link(hint)}.")
        elif of is not None:
            told.append(f"    {field.name} ({_type(hint)}): {of.help}{_default(field)}")
    return ["Args:", *told, ""] if told else []


def _link(kind: Any) -> str:
    return f":class:`~positionbias.settings.{kind.__name__}`"


def _type(hint: Any) -> str:
    """Return a type without its modules."""
    text = hint.__name__ if isinstance(hint, type) else str(hint)
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=\w)", "", text)


def _default(field: Field[Any]) -> str:
    if field.default_factory is not MISSING or field.default is MISSING:
        return ""
    return f" Default: ``{field.default!r}``."


def _with_dashes(_app: Sphinx, doctree: nodes.document, _page: str) -> None:
    """Put a dash between a parameter and what it does; with Sphinx's own quotes, options would lose
    theirs.
    """
    for text in list(doctree.findall(nodes.Text)):
        if text == " -- ":
            text.parent.replace(text, nodes.Text(" – "))
