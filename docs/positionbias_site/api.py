"""The reference of the public names: a page for each module that they are in, one for settings, and
a list of all.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from types import ModuleType

import positionbias
from positionbias import settings
from positionbias_site.markdown import fence, page, toctree

OTHERS = ("positionbias.pyterrier", "positionbias.sbert")


def pages() -> dict[str, str]:
    """Return the Markdown of the pages by their paths."""
    modules: dict[str, list[str]] = {}
    names = [name for name in positionbias.__all__ if name != "__version__"]
    for name in names:
        modules.setdefault(positionbias.module_of(name), []).append(name)
    made = {_place(module): _of_module(module, found) for module, found in modules.items()}
    for module in OTHERS:
        found = importlib.import_module(module)
        made[_place(module)] = page(
            f"# {module.rpartition('.')[2]}",
            inspect.getdoc(found) or "",
            *_shown(found, module, found.__all__),
        )
    rows = [f"| [`{name}`](#positionbias.{name}) | {_first_sentence(name)} |" for name in names]
    start = page(
        "# Python reference",
        "`import positionbias` has these names; [`positionbias.settings`](settings.md) has the "
        "settings that they take.",
        "\n".join(["| name | what it is |", "|---|---|", *rows]),
        toctree(
            [
                *(place.removesuffix(".md").removeprefix("api/") for place in sorted(made)),
                "settings",
            ]
        ),
    )
    return {"api/index.md": start, **made, "api/settings.md": _of_settings()}


def _place(module: str) -> str:
    return f"api/{module.removeprefix('positionbias.').replace('.', '-')}.md"


def _of_module(module: str, names: Iterable[str]) -> str:
    about = (importlib.import_module(module).__doc__ or "").partition("\n")[0]
    title = module.rpartition(".")[2].replace("_", " ").capitalize()
    return page(f"# {title}", about, *_shown(positionbias, "positionbias", names))


def _of_settings() -> str:
    about = (
        "`positionbias.settings` has what functions, studies and models take. A field has its "
        "type, what it does, and its default."
    )
    blocks = (
        fence(f".. autoclass:: positionbias.settings.{name}", "{eval-rst}")
        for name in settings.__all__
    )
    return page("# Settings", about, *blocks)


def _shown(module: ModuleType, called: str, names: Iterable[str]) -> Iterable[str]:
    for name in names:
        of_class = inspect.isclass(getattr(module, name))
        lines = (
            [f".. autoclass:: {called}.{name}", "   :members:"]
            if of_class
            else [f".. autofunction:: {called}.{name}"]
        )
        yield fence("\n".join(lines), "{eval-rst}")


def _first_sentence(name: str) -> str:
    text = inspect.getdoc(getattr(positionbias, name)) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("``", "`").replace("|", r"\|")
