"""Invented documents in the forms of TREC's discs, the New York Times corpus and the Washington
Post collection.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping

import ncompress

from positionbias.formats.unix_compress import with_own_stack

FT = b"""<DOC>
<DOCNO>FT911-1</DOCNO>
<PROFILE>_AN-BEOA7AAIFT</PROFILE>
<DATE>910514
</DATE>
<HEADLINE>
FT  14 MAY 91 / Orvell Bridge &amp; Sons
</HEADLINE>
<BYLINE>
   By A N OTHER
</BYLINE>
<TEXT>
The  lamp of Orvell burns
green oil; R&D costs rose.
</TEXT>
<PAGE>
London Page 4
</PAGE>
</DOC>
"""
LATIMES = b"""<DOC>
<DOCNO> LA010189-0001 </DOCNO>
<DOCID> 1 </DOCID>
<DATE>
<P>
January 1, 1989, Sunday
</P>
</DATE>
<HEADLINE>
<P>
A GATE OF IRON
</P>
</HEADLINE>
<TEXT>
<P>
Travellers pass it at H<SUB>2</SUB>O.
</P>
<P>
It opens twice.
</P>
</TEXT>
<GRAPHIC><P>Photo, the gate</P></GRAPHIC>
</DOC>
"""
FR94 = b"""<DOC>
<DOCNO> FR940104-0-00001 </DOCNO>
<PARENT> FR940104-0-00001 </PARENT>
<TEXT>

<!-- PJG FTAG 4700 -->
<ITAG tagnum="90">Rule&blank;5&hyph;a</ITAG>
&sect; 12 <DOCTITLE>of lamps</DOCTITLE>
</TEXT>
</DOC>
"""
FBIS = b"""<DOC>
<DOCNO> FBIS3-1 </DOCNO>
<HT>  "cr00000011094001" </HT>
<HEADER>
<H2>   March Reports </H2>
<DATE1>  1 March 1994 </DATE1>
<H3> <TI>      FRIEDRICH'S ARTICLE </TI></H3>
</HEADER>
<TEXT>
Language: <F P=105> English </F>
Caf\xe9 \x93Zur Br\xfccke\x94
</TEXT>
</DOC>
"""
DISC = {
    "FT911-1": (
        "910514 FT 14 MAY 91 / Orvell Bridge & Sons The lamp of Orvell burns green oil; R&D costs "
        "rose."
    ),
    "LA010189-0001": (
        "January 1, 1989, Sunday A GATE OF IRON Travellers pass it at H2O. It opens twice."
    ),
    "FR940104-0-00001": "Rule 5-a § 12 of lamps",
    "FBIS3-1": "Language: English Café “Zur Brücke”",
}
NITF = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE nitf SYSTEM "http://www.nitf.org/IPTC/NITF/3.3/specification/dtd/nitf-3-3.dtd">
<nitf change.date="June 10, 2005" version="-//IPTC//DTD NITF 3.3//EN">
  <head>
    <title>{headline}</title>
    <docdata>
      <doc-id id-string="{name}"/>
      <doc.copyright holder="invented" year="1987"/>
    </docdata>
  </head>
  <body>
    <body.head>
      <hedline><hl1>{headline}</hl1><hl2 class="online_headline">another headline</hl2></hedline>
      <byline class="print_byline">By A. N. OTHER</byline>
      <abstract><p>An abstract</p></abstract>
    </body.head>
    <body.content>
      <block class="lead_paragraph"><p>{lead}</p></block>
      {full}
    </body.content>
  </body>
</nitf>
"""


def nitf(name: str, headline: str, lead: str, *paragraphs: str) -> bytes:
    """One article; without paragraphs it has no full text."""
    full = "".join(f"\n        <p>{text}</p>" for text in paragraphs)
    block = f'<block class="full_text">{full}\n      </block>' if paragraphs else ""
    return NITF.format(name=name, headline=headline, lead=lead, full=block).encode()


def wapo(name: str, title: str | None, *paragraphs: str) -> bytes:
    """One article as a line."""
    contents: list[object] = [
        {"content": "World", "mime": "text/plain", "type": "kicker"},
        {"content": title, "mime": "text/plain", "type": "title"},
        {"content": "By A. N. Other", "mime": "text/plain", "type": "byline"},
        {"content": 1325376562000, "mime": "text/plain", "type": "date"},
        None,
        {
            "fullcaption": "a gate",
            "imageURL": "https://example.org/1",
            "mime": "image/jpeg",
            "type": "image",
        },
        *(
            {"content": text, "subtype": "paragraph", "type": "sanitized_html", "mime": "text/html"}
            for text in paragraphs
        ),
        {"content": None, "type": "sanitized_html", "mime": "text/html"},
    ]
    record = {
        "id": name,
        "article_url": "https://example.org",
        "title": title,
        "author": "",
        "contents": contents,
    }
    return json.dumps(record).encode() + b"\n"


def lzw(data: bytes) -> bytes:
    """What Unix compress makes of data, also beside a Java machine that another test has started in
    this process.
    """
    packed: bytes = with_own_stack(lambda: ncompress.compress(data))
    return packed


def tar(files: Mapping[str, bytes], compression: str = "") -> bytes:
    """A tar archive (with "gz", compressed) of these files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{compression}") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()
