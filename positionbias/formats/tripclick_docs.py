"""TripClick's documents: one block of a file in, passages out.

    <DOC>
    <DOCNO> 96657 </DOCNO>

    <TITLE> … </TITLE>
    <URL> … </URL>

    <TEXT>
    …
    </TEXT>

    </DOC>

The form is that of the release's own script (``step07_docs_create_collection.py`` of tripdatabase/tripclick). Nothing in it is escaped, so "<" in a
title or text is text: only the tags above are read, and only where they begin a line. A passage's text is title, space, abstract (Hofstätter et al.
2022); white space collapses, the URL is left out [decision].
"""

from __future__ import annotations

from collections.abc import Iterator

from positionbias.core.blocks import Block
from positionbias.core.errors import InputError
from positionbias.core.records import Passage
from positionbias.formats.markup import collapse
from positionbias.formats.msmarco import tsv_passages

__all__ = ["END_OF_TITLE", "plain", "tagged_documents", "tsv_documents"]

END_OF_TITLE = "<eot>"  # stands between title and abstract where the release has both in one column


def plain(text: str) -> str:
    """A document's text from one column: the mark between title and abstract becomes a space, white space collapses.

    >>> plain("A title <eot> An  abstract.")
    'A title An abstract.'
    """
    return collapse(text.replace(END_OF_TITLE, " "))


def tsv_documents(block: Block) -> Iterator[Passage]:
    """The documents of ``docs.tsv``: id, tab, text.

    Raises:
        InputError: as ``tsv_passages``.
    """
    for passage_id, text in tsv_passages(block):
        yield Passage(passage_id, plain(text))


def tagged_documents(block: Block) -> Iterator[Passage]:
    """The documents of ``docs_grp_*.txt``; one without a text, or without both, is kept as it is.

    Raises:
        InputError: not UTF-8, a document that is not closed or has no DOCNO (with its line).
    """
    reading: _Document | None = None
    for number, line in block.lines():
        if line.startswith("<DOC>"):
            if reading is not None:
                raise _bad(block, number, "<DOC> inside a <DOC>")
            reading = _Document(number)
        elif line.startswith("</DOC>"):
            if reading is None:
                raise _bad(block, number, "</DOC> without <DOC>")
            yield reading.passage(block)
            reading = None
        elif reading is not None:
            reading.add(line)
    if reading is not None:
        raise block.bad_line(
            reading.line, wanted="</DOC> after this <DOC>", found="the end of the file", do="fetch the file again"
        )


def _bad(block: Block, number: int, found: str) -> InputError:
    return block.bad_line(
        number, wanted="every document between <DOC> and </DOC>", found=found, do="mend the file, or fetch it again"
    )


class _Document:
    """One document while its lines go by; ``line`` is that of its <DOC>."""

    def __init__(self, line: int) -> None:
        self.line = line
        self._parts: dict[str, list[str]] = {"DOCNO": [], "TITLE": [], "TEXT": []}
        self._inside = ""

    def add(self, line: str) -> None:
        if not self._inside:
            for name in self._parts:
                if line.startswith(f"<{name}>"):
                    self._inside, line = name, line[len(name) + 2 :]
                    break
            else:
                return  # the URL, and blank lines
        # a text's end tag has a line of its own; before it, the same letters are text
        closing, body = f"</{self._inside}>", line.rstrip()
        ends = body == closing if self._inside == "TEXT" else body.endswith(closing)
        self._parts[self._inside].append(body.removesuffix(closing) if ends else line)
        if ends:
            self._inside = ""

    def passage(self, block: Block) -> Passage:
        name, title, text = (collapse("\n".join(part)) for part in self._parts.values())
        if not name or " " in name:
            found = f"{name!r}" if name else "none"
            raise block.bad_line(
                self.line, wanted="<DOCNO> an id </DOCNO> in every document", found=found, do="mend the file, or fetch it again"
            )
        return Passage(name, " ".join(part for part in (title, text) if part))
