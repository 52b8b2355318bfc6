"""Parse XML with expat, without fetching or expanding anything.

External entities and the external document type are never read. Documents that declare entities are
refused: entities can turn a few lines into gigabytes, and no supported data set uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from xml.parsers import expat

from positionbias.core.errors import bad_input
from positionbias.formats.markup import resolve

_WHAT = "well-formed XML"


class _DeclaresEntity(Exception):
    """The document declares an entity."""


def parse_xml(
    data: bytes,
    source: str,
    *,
    start: Callable[[str, Mapping[str, str], int], None],
    end: Callable[[str], None],
    text: Callable[[str], None],
) -> None:
    """Call ``start(name, attributes, line)``, ``end(name)`` and ``text(characters)`` while parsing
    the document.

    A reference that only the unread document type could define is resolved as in HTML, else kept.

    Raises:
        InputError: not well-formed (with the line), an unknown encoding, or an entity declaration.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.StartElementHandler = lambda name, attributes: start(
        name, attributes, parser.CurrentLineNumber
    )
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.SkippedEntityHandler = lambda name, parameter: (
        None if parameter else text(resolve(f"&{name};"))
    )
    parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(data, True)
    except _DeclaresEntity:
        raise bad_input(
            source,
            line=parser.CurrentLineNumber,
            wanted="XML without entity declarations",
            found="one, which could expand without bound or read another file",
            do="remove it",
        ) from None
    except expat.ExpatError as error:
        raise bad_input(
            source,
            line=error.lineno,
            wanted=_WHAT,
            found=expat.ErrorString(error.code),
            do="check that the file is complete",
        ) from None
    except (LookupError, ValueError) as error:  # the declared encoding
        raise bad_input(
            source, wanted=_WHAT, found=str(error), do="convert the file to UTF-8"
        ) from None


def _refuse(*_: Any) -> None:
    raise _DeclaresEntity
