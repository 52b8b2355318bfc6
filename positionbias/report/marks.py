"""Tooltips of a figure's marks: the exact numbers behind each point and bar, in the SVG of a
page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["add_tooltips", "label_marks", "name_marks"]

ATTRIBUTE = "data-mark"  # holds a mark's text until the SVG is cleaned
NEAR = 0.45  # of a category's distance to the next: marks stand beside their row


def name_marks(figure: Figure) -> dict[str, list[str]]:
    """Give each line with markers and each bar an id in the SVG; return the texts of its marks by
    id.
    """
    texts: dict[str, list[str]] = {}
    for number, axes in enumerate(figure.axes):
        for place, line in enumerate(axes.lines):
            points = _points(axes, line)
            if points:
                line.set_gid(f"mark-{number}-{place}")
                texts[f"mark-{number}-{place}"] = [_text(axes, x, y) for x, y in points]
        for place, (bar, text) in enumerate(_bars(axes)):
            bar.set_gid(f"bar-{number}-{place}")
            texts[f"bar-{number}-{place}"] = [text]
    return texts


def _points(axes: Axes, line: Any) -> list[tuple[float, float]]:
    """Return the finite points of a line of data that has markers."""
    if (
        line.get_marker() in (None, "None", "none", "", " ")
        or line.get_transform() != axes.transData
    ):
        return []
    pairs = zip(line.get_xdata(orig=False), line.get_ydata(orig=False), strict=True)
    return [(float(x), float(y)) for x, y in pairs if math.isfinite(x) and math.isfinite(y)]


def _bars(axes: Axes) -> list[tuple[Any, str]]:
    """Return the bars of a plot with what each shows: its ends on the one axis, its height on the
    other.
    """
    from matplotlib.container import BarContainer

    found = []
    for container in (one for one in axes.containers if isinstance(one, BarContainer)):
        for bar in container.patches:
            across = _number(bar.get_x()), _number(bar.get_x() + bar.get_width())
            found.append(
                (bar, _titled(axes, f"{across[0]} to {across[1]}: {_number(bar.get_height())}"))
            )
    return found


def _text(axes: Axes, x: float, y: float) -> str:
    """Return a point's numbers; on an axis with names its row, on one without ticks nothing."""
    across, up = _place(axes.xaxis, x), _place(axes.yaxis, y)
    named = [one for one in (across, up) if any(char.isalpha() for char in one)]
    numbers = [one for one in (across, up) if one and one not in named]
    return _titled(axes, ": ".join([*named, *numbers]))


def _titled(axes: Axes, text: str) -> str:
    title = " ".join(axes.get_title(loc="left").split())
    return f"{title}, {text}" if title else text


def _place(axis: Any, at: float) -> str:
    """Return the number, or the name of the nearest tick where names stand in place of numbers; ""
    on an axis without ticks.
    """
    from matplotlib.ticker import FixedLocator

    ticks = axis.get_majorticklocs()
    if not len(ticks):
        return ""
    if isinstance(axis.get_major_locator(), FixedLocator):
        labels = [" ".join(label.get_text().split()) for label in axis.get_ticklabels()]
        if not any(labels) or any(label.startswith("←") for label in labels):
            return ""  # hidden names, or sides in their place
        if any(char.isalpha() for label in labels for char in label):
            distance, name = min(
                (abs(tick - at), label) for tick, label in zip(ticks, labels, strict=False)
            )
            return name if distance < NEAR else _number(at)
    return _number(at)


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")


def label_marks(root: ElementTree.Element, texts: Mapping[str, Sequence[str]]) -> None:
    """Write each mark's text onto its element of the SVG; a line of which some points are not drawn
    gets none.
    """
    for element in root.iter():
        own = texts.get(element.get("id", ""))
        if own is None:
            continue
        drawn = [part for part in element.iter() if part.tag.rpartition("}")[2] == "use"] or [
            element
        ]
        if len(drawn) == len(own):
            for part, text in zip(drawn, own, strict=True):
                part.set(ATTRIBUTE, text)


def add_tooltips(root: ElementTree.Element) -> None:
    """Turn the texts on a cleaned SVG's elements into titles, which browsers show beside the
    pointer.
    """
    for element in root.iter():
        text = element.attrib.pop(ATTRIBUTE, None)
        if text is not None:
            title = ElementTree.Element("title")
            title.text = text
            element.insert(0, title)
