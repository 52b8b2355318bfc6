"""Parse a block of TripClick's documents into passages.

    <DOC>
    <DOCNO> 96657 </DOCNO>

    <TITLE> … </TITLE>
    <URL> … </URL>

    <TEXT>
    …
    </TEXT>

    </DOC>

The form is that of the release's own script (``step07_docs_create_collection.py`` of
tripdatabase/tripclick). Nothing in it is escaped, so "<" in a title or text is text. Only the tags
above are read: <DOC> and </DOC> as whole lines, other opening tags at the start of a line, closing
tags at the end of one. Text outside them is an error, as it would be lost. A passage's text is
title, space, abstract (Hofstätter et al. 2022); white space collapses, and the URL is left out
[decision].
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from positionbias.core.blocks import Block
from positionbias.core.errors import InputError
from positionbias.core.records import Passage
from positionbias.formats.markup import collapse
from positionbias.formats.msmarco import tsv_passages

__all__ = ["DOCUMENT_START", "END_OF_TITLE", "plain", "tagged_documents", "tsv_documents"]

DOCUMENT_START = re.compile(rb"(?<=\n)<DOC>(?=[ \t\r]{0,8}\n)")  # possible cuts of a file
_FIX, _SHOWN = "fix the file, or fetch it again", 60  # characters of a line in a message
END_OF_TITLE = "<eot>"  # between title and abstract where the release has both in one column


def plain(text: str) -> str:
    """Clean a document's text from one column: turn the mark after the title into a space and
    collapse white space.

    >>> plain("A title <eot> An  abstract.")
    'A title An abstract.'
    """
    return collapse(text.replace(END_OF_TITLE, " "))


def tsv_documents(block: Block) -> Iterator[Passage]:
    """Yield the documents of ``docs.tsv``: id, tab, text.

    Raises:
        InputError: as ``tsv_passages``.
    """
    for passage_id, text in tsv_passages(block):
        yield Passage(passage_id, plain(text))


def tagged_documents(block: Block) -> Iterator[Passage]:
    """Yield the documents of ``docs_grp_*.txt``, including those without text or title.

    Raises:
        InputError: not UTF-8, an unclosed document or tag, text outside the tags, or no DOCNO (with
            the line).
    """
    reading: _Document | None = None
    for number, line in block.lines():
        bare = line.rstrip()
        if bare == "<DOC>":
            if reading is not None:
                raise _bad(block, number, "<DOC> inside a <DOC>")
            reading = _Document(block, number)
        elif bare == "</DOC>":
            if reading is None:
                raise _bad(block, number, "</DOC> without <DOC>")
            yield reading.passage()
            reading = None
        elif reading is not None:
            reading.add(number, line)
        elif bare:
            raise _bad(block, number, repr(bare[:_SHOWN]))
    if reading is not None:
        raise block.bad_line(
            reading.line,
            wanted="</DOC> after this <DOC>",
            found="the end of the file",
            do="fetch the file again",
        )


def _bad(block: Block, number: int, found: str) -> InputError:
    return block.bad_line(
        number, wanted="every document between <DOC> and </DOC>", found=found, do=_FIX
    )


class _Document:
    """A document during parsing; ``line`` is the line of its <DOC>."""

    def __init__(self, block: Block, line: int) -> None:
        self.line = line
        self._block = block
        self._parts: dict[str, list[str]] = {"DOCNO": [], "TITLE": [], "URL": [], "TEXT": []}
        self._inside, self._opened = "", line

    def add(self, number: int, line: str) -> None:
        """Add the next line, without its end.

        Raises:
            InputError: text outside the tags.
        """
        body = line.rstrip()
        if not self._inside:
            name = next((name for name in self._parts if body.startswith(f"<{name}>")), None)
            if name is None:
                if body:
                    wanted = "all of a document in DOCNO, TITLE, URL or TEXT, each closed once"
                    raise self._block.bad_line(
                        number, wanted=wanted, found=repr(body[:_SHOWN]), do=_FIX
                    )
                return
            self._inside, self._opened, body = name, number, body[len(name) + 2 :]
        closing = f"</{self._inside}>"
        self._parts[self._inside].append(body.removesuffix(closing))
        if body.endswith(closing):
            self._inside = ""

    def passage(self) -> Passage:
        """Return the complete document.

        Raises:
            InputError: an unclosed tag, or no DOCNO with a valid id.
        """
        if self._inside:
            wanted = f"</{self._inside}> after this <{self._inside}>, at the end of a line"
            raise self._block.bad_line(
                self._opened, wanted=wanted, found="none before </DOC>", do=_FIX
            )
        name, title, _, text = (collapse("\n".join(part)) for part in self._parts.values())
        if not name or " " in name:
            found = f"{name!r}" if name else "none"
            raise self._block.bad_line(
                self.line, wanted="<DOCNO> an id </DOCNO> in every document", found=found, do=_FIX
            )
        return Passage(name, " ".join(part for part in (title, text) if part))
