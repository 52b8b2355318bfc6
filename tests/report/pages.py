"""Reading a page back: elements, ids, links and text, by the standard library's parser."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {
    "area",
    "base",
    "br",
    "col",
    "embed",
    "hr",
    "img",
    "input",
    "link",
    "meta",
    "source",
    "track",
    "wbr",
}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    parent: Element | None
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    def every(self, tag: str | None = None) -> list[Element]:
        """This element's descendants, in order, of one kind or of any."""
        found = []
        for child in self.children:
            found += [child] if tag in (None, child.tag) else []
            found += child.every(tag)
        return found

    @property
    def text(self) -> str:
        """All text inside, in order of its end."""
        return "".join(self.pieces)


class Page(HTMLParser):
    """A parsed page; raises where an end tag does not fit."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self._open = Element("", {}, None)
        self.feed(text)
        self.close()
        assert self._open is self.root, f"<{self._open.tag}> was not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, self._open)
        assert len(element.attributes) == len(attrs), f"<{tag}> has an attribute twice"
        self._open.children.append(element)
        if tag not in VOID:
            self._open = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open.children.append(
            Element(tag, {name: value or "" for name, value in attrs}, self._open)
        )

    def handle_endtag(self, tag: str) -> None:
        assert self._open.tag == tag, f"</{tag}> where <{self._open.tag}> is open"
        assert self._open.parent is not None
        self._open = self._open.parent

    def handle_data(self, data: str) -> None:
        element: Element | None = self._open
        while element is not None:
            element.pieces.append(data)
            element = element.parent
