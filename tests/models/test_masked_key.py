"""A key is masked in what a server says, in any case and encoding."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote

import pytest

from positionbias.models.masked_key import without_key

KEY = "sk-Ab9/x+Q~7_z=LMN"


@pytest.mark.parametrize("said", ["no to {}", "Bearer {} is wrong", "{}{}"])
@pytest.mark.parametrize("form", [KEY, KEY.upper(), KEY.lower(), KEY.swapcase()])
def test_any_case(said: str, form: str) -> None:
    assert without_key(said.replace("{}", form), KEY) == said.replace("{}", "[key]")


@pytest.mark.parametrize(
    "form",
    [
        quote(KEY, safe=""),
        quote(KEY, safe="").lower(),
        "".join(f"%{byte:02x}" for byte in KEY.encode()),
        quote(quote(KEY, safe=""), safe=""),
        json.dumps(KEY).replace("/", "\\/"),
        "".join(f"\\u{ord(character):04X}" for character in KEY),
        json.dumps("".join(f"\\u{ord(character):04x}" for character in KEY)),
        html.escape(KEY.replace("=", "&#61;")).replace("&amp;", "&"),
        KEY.encode().hex(),
        KEY.encode().hex().upper(),
        *(
            base64.b64encode(f"{before}{KEY}{after}".encode()).decode()
            for before in ("", "a", "Bearer ", "ab")
            for after in ("", "!", ":x")
        ),
        *(
            base64.urlsafe_b64encode(f"{before}{KEY}".encode()).decode().rstrip("=")
            for before in ("", "u:", "me:")
        ),
        quote(base64.b64encode(KEY.encode()).decode(), safe="").lower(),
    ],
)
def test_other_encodings_are_withheld(form: str) -> None:
    assert without_key(f"the server says {form} is no key", KEY) == "[a message that holds the key]"


def test_other_text_stays() -> None:
    said = "404 Not Found: 100 % of sk-Ab9 \\u00e9 &amp; c2stQWI5 are elsewhere"
    assert without_key(said, KEY) == said
    assert without_key(said, "") == said


@pytest.mark.parametrize("part", [KEY[:-1], KEY[1:], KEY[:12].upper(), f"{KEY[:-2]}…"])
def test_part_of_a_key(part: str) -> None:
    assert without_key(f"the server says {part} is no key", KEY) == "[a message that holds the key]"
