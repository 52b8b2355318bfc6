"""What ``explorer.js`` needs of a page: data, compressed within it, and offsets in a browser's units."""

from __future__ import annotations

import base64
import json
import zlib

from positionbias.core.json_text import JsonObject

__all__ = ["packed", "utf16"]


def packed(data: JsonObject) -> str:
    """Return data as base64 of compressed JSON: letters and digits, so no text in it can end or begin markup.

    ``explorer.js`` unpacks it. The same data give the same text.
    """
    plain = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(plain.encode("utf-8"), 9)).decode("ascii")


def utf16(text: str, offset: int) -> int:
    """Return an offset in characters as one in UTF-16 units, in which a browser counts.

    >>> utf16("a😀b", 2)
    3
    """
    return len(text[:offset].encode("utf-16-le")) // 2
