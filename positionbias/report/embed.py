"""A figure as part of a page: its SVG without what the page supplies, with ids that clash with no
other figure's.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import TYPE_CHECKING

from positionbias.report.figure import svg_text
from positionbias.report.marks import add_tooltips, label_marks, name_marks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["inline_svg"]

_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_DRAWN, _LONG = ("d", "x", "y", "transform", "points"), re.compile(r"-?\d+\.\d{3,}")
_LEFT_OUT = ("metadata", "style", "title")
CSS_PIXELS_PER_POINT = 4 / 3


def inline_svg(figure: Figure, prefix: str, description: str) -> str:
    """Return the ``<svg>`` element for a page: an image named by ``description``, no wider than it
    was drawn.

    The page supplies dark-screen rules and the font; unreferenced ids are removed, the others begin
    with ``prefix``. Marks have their exact numbers as tooltips; what is drawn has a hundredth of a
    point.
    """
    marks = name_marks(figure)
    root = ElementTree.fromstring(svg_text(figure))
    label_marks(root, marks)
    used = {
        name
        for element in root.iter()
        for value in element.attrib.values()
        for name in _pointed_to(value)
    }
    _clean(root, prefix, used)
    add_tooltips(root)
    width = float(root.attrib.pop("width").removesuffix("pt")) * CSS_PIXELS_PER_POINT
    for name in ("height", "version"):
        root.attrib.pop(name, None)
    root.set("style", f"max-width:{width:.0f}px")
    root.set("role", "img")
    root.set("aria-labelledby", f"{prefix}-title")
    title = ElementTree.Element("title", {"id": f"{prefix}-title"})
    title.text = description
    root.insert(0, title)
    return ElementTree.tostring(root, encoding="unicode")


def _pointed_to(value: str) -> list[str]:
    return [value[1:]] if value.startswith("#") else _REFERENCE.findall(value)


def _clean(element: ElementTree.Element, prefix: str, used: set[str]) -> None:
    element.tag = element.tag.rpartition("}")[2]
    attributes = {}
    for name, value in element.attrib.items():
        name = name.rpartition("}")[2]  # xlink:href → href, which every current browser reads
        if name == "id" and value not in used:
            continue
        if name == "id":
            value = f"{prefix}-{value}"
        elif value.startswith("#") and value[1:] in used:
            value = f"#{prefix}-{value[1:]}"
        elif name == "style":
            value = _page_font(value)
        if name in _DRAWN:
            value = _LONG.sub(
                lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), value
            )
        attributes[name] = _REFERENCE.sub(rf"url(#{prefix}-\1)", " ".join(value.split()))
    element.attrib.clear()
    element.attrib.update(attributes)
    if element.tag not in ("text", "tspan"):
        element.text = None
    element.tail = None
    for child in list(element):
        if child.tag.rpartition("}")[2] in _LEFT_OUT:
            element.remove(child)
        else:
            _clean(child, prefix, used)


def _page_font(style: str) -> str:
    return "; ".join(
        part.strip()
        for part in style.split(";")
        if part.strip() and not part.strip().startswith("font-family")
    )
