"""Tooltips of a figure's marks: the exact numbers behind each point and bar, in the SVG of a
page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
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
        drawn = {place: _points(axes, line) for place, line in enumerate(axes.lines)}
        ticks = [_ticks(axis) for axis in (axes.xaxis, axes.yaxis) if any(drawn.values())]
        for place, points in drawn.items():
            if points:
                axes.lines[place].set_gid(f"mark-{number}-{place}")
                texts[f"mark-{number}-{place}"] = [_text(axes, ticks, point) for point in points]
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


def _text(axes: Axes, ticks: Sequence[_Ticks], point: Sequence[float]) -> str:
    """Return a point's numbers; on an axis with names its row, on one without ticks nothing."""
    places = [_place(own, at) for own, at in zip(ticks, point, strict=True)]
    named = [one for one in places if any(char.isalpha() for char in one)]
    numbers = [one for one in places if one and one not in named]
    return _titled(axes, ": ".join([*named, *numbers]))


def _titled(axes: Axes, text: str) -> str:
    title = " ".join(axes.get_title(loc="left").split())
    return f"{title}, {text}" if title else text


class _Ticks(NamedTuple):
    """The places of an axis's ticks, and their labels where these stand in place of numbers."""

    places: Sequence[float]
    labels: Sequence[str] | None


def _ticks(axis: Any) -> _Ticks:
    from matplotlib.ticker import FixedLocator

    places = axis.get_majorticklocs()
    if not len(places) or not isinstance(axis.get_major_locator(), FixedLocator):
        return _Ticks(places, None)
    return _Ticks(places, [" ".join(one.get_text().split()) for one in axis.get_ticklabels()])


def _place(ticks: _Ticks, at: float) -> str:
    """Return the number, or the name of the nearest tick where names stand in place of numbers; ""
    on an axis without ticks.
    """
    if not len(ticks.places):
        return ""
    if ticks.labels is not None:
        labels = ticks.labels
        if not any(labels) or any(label.startswith("←") for label in labels):
            return ""  # hidden names, or sides in their place
        if any(char.isalpha() for label in labels for char in label):
            distance, name = min(
                (abs(tick - at), label) for tick, label in zip(ticks.places, labels, strict=False)
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
