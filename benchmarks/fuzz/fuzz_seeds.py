"""Small invented files in the published layout of every format that is read: what the campaign puts
faults into.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from random import Random
from typing import Any

__all__ = ["SEEDS", "packed", "parquet_of"]

Files = dict[str, bytes]

TEXTS = (
    "The lamp of Orvell burns green oil. It hangs in the north hall.",
    "Travellers pass the iron gate at dusk; it opens twice, in 1817 and again.",
    "A stone bridge joins both banks of the Mirren.",
    "Im Café „Zur Brücke“ kostet der Tee drei Kronen.",
    "東京の橋は石でできています。",
    "Itâ€™s the keeperâ€™s lamp.",
    "Mirren",
    "a column\twith a tab  and two spaces",
    "The tower is forty metres high. Who climbs it? Nobody.",
    "Salt is weighed at the harbour before the tide turns.",
)
QUESTIONS = (
    "what does the lamp burn",
    "when does the gate open",
    "was kostet der tee",
    "how high is the tower",
    "橋",
    "who climbs",
)


def texts(random: Random) -> tuple[str, ...]:
    """The texts of a release's passages; now and then so many that no buffer holds them, and faults
    lie deep inside.
    """
    return (
        TEXTS
        if random.random() > 0.05
        else (*TEXTS, *(f"{random.randbytes(40).hex()} lamp" for _ in range(1_500)))
    )


def _tsv(*rows: tuple[object, ...], separator: str = "\t") -> bytes:
    return "".join(f"{separator.join(map(str, row))}\n" for row in rows).encode()


def _json_lines(*records: Any, ascii_only: bool = False) -> bytes:
    return "".join(
        f"{json.dumps(record, ensure_ascii=ascii_only)}\n" for record in records
    ).encode()


def msmarco(random: Random) -> Files:
    """The release's files, or some of them."""
    files = {
        "collection.tsv": _tsv(*enumerate(texts(random))),
        "queries.train.tsv": _tsv((100, QUESTIONS[0]), (101, QUESTIONS[1]), (102, "never judged")),
        "qrels.train.tsv": _tsv((100, 0, 0, 1), (101, 0, 1, 1), (101, 0, 2, 1), (199, 0, 3, 1)),
        "queries.dev.small.tsv": _tsv((200, QUESTIONS[2])),
        "qrels.dev.small.tsv": _tsv((200, 0, 3, 1)),
        "queries.dev.tsv": _tsv((200, QUESTIONS[2]), (201, QUESTIONS[3]), (202, QUESTIONS[4])),
        "qrels.dev.tsv": _tsv((200, 0, 3, 1), (201, 0, 8, 1)),
        "queries.eval.tsv": _tsv((300, QUESTIONS[5])),
        "top1000.dev": _tsv(
            (201, 8, QUESTIONS[3], TEXTS[8]),
            (201, 0, QUESTIONS[3], TEXTS[0]),
            (200, 3, QUESTIONS[2], TEXTS[3]),
        ),
        "qidpidtriples.train.full.2.tsv": _tsv((100, 0, 1), (101, 1, 3), (777, 0, 1)),
        "triples.train.small.tsv": _tsv(
            (QUESTIONS[0], TEXTS[0], TEXTS[1]), (QUESTIONS[1], TEXTS[1], TEXTS[2])
        ),
    }
    return _some(random, files)


def msmarco_docs(random: Random) -> Files:
    """The document release's files, or some of them."""
    documents = [
        (f"D{at}", f"https://example.org/{at}", "Orvell" if at % 2 else "", text.replace("\t", " "))
        for at, text in enumerate(texts(random))
    ]
    files = {
        "msmarco-docs.tsv": _tsv(*documents),
        "msmarco-doctrain-queries.tsv": _tsv(
            (100, QUESTIONS[0]), (101, QUESTIONS[1]), (102, "never judged")
        ),
        "msmarco-doctrain-qrels.tsv": _tsv(
            (100, 0, "D0", 1), (101, 0, "D1", 1), (199, 0, "D3", 1), separator=" "
        ),
        "msmarco-doctrain-top100": _tsv(
            (100, "Q0", "D0", 1, -5.5, "x"),
            (100, "Q0", "D3", 2, -6, "x"),
            (101, "Q0", "D1", 1, 1e-3, "x"),
            separator=" ",
        ),
        "msmarco-docdev-queries.tsv": _tsv((200, QUESTIONS[2]), (201, QUESTIONS[3])),
        "msmarco-docdev-qrels.tsv": _tsv((200, 0, "D3", 1), (201, 0, "gone", 1), separator=" "),
        "docleaderboard-queries.tsv": _tsv((300, QUESTIONS[5])),
    }
    return _some(random, files)


def orcas(random: Random) -> Files:
    """ORCAS, and candidates beside it."""
    clicks = [
        (900, QUESTIONS[0], "D0"),
        (900, QUESTIONS[0], "D1"),
        (901, QUESTIONS[1], "D1"),
        (902, QUESTIONS[4], "D4"),
        (900, QUESTIONS[0], "D0"),
    ]
    files = {
        "orcas.tsv": _tsv(*((*click, "https://example.org") for click in clicks)),
        "orcas-doctrain-top100": _tsv(
            (900, "Q0", "D0", 1, 9.5, "x"), (902, "Q0", "D4", 1, 3, "x"), separator=" "
        ),
    }
    return _some(random, files)


def _some(random: Random, files: Files) -> Files:
    return (
        files
        if random.random() < 0.5
        else {name: data for name, data in files.items() if random.random() < 0.6} or files
    )


def msmarco_qa(random: Random) -> Files:
    """One file in one of the releases' layouts."""
    rows = [
        {
            "answers": answers,
            "passages": [
                {
                    "is_selected": int(number == place),
                    "passage_text": TEXTS[(at + number) % len(TEXTS)],
                    "url": "https://example.org",
                }
                for number in range(3)
            ],
            "query": QUESTIONS[at],
            "query_id": 1_000 + at,
            "query_type": ("DESCRIPTION", "NUMERIC", "ENTITY")[at % 3],
            "wellFormedAnswers": well_formed,
        }
        for at, (answers, place, well_formed) in enumerate(
            (
                (["green oil"], 0, "[]"),
                (["at dusk", "twice", "at dusk"], 0, ["It opens at dusk."]),
                (["No Answer Present."], -1, "[]"),
                ([""], 1, []),
            )
        )
    ]
    more = enumerate(texts(random)[len(TEXTS) :], 5_000)
    rows += [
        {
            **rows[0],
            "query_id": at,
            "passages": [{"is_selected": 1, "passage_text": text, "url": ""}],
            "answers": ["lamp"],
        }
        for at, text in more
    ]
    form = random.choice(("lines", "columns", "hub"))
    if form == "lines":
        return {"train_v1.1.json": _json_lines(*rows, ascii_only=random.random() < 0.5)}
    if form == "columns":
        columns = {
            key: {str(number): row[key] for number, row in enumerate(rows)} for key in rows[0]
        }
        return {"train_v2.1.json": json.dumps(columns, ensure_ascii=random.random() < 0.5).encode()}
    for row in rows:
        passages: list[dict[str, Any]] = row["passages"]  # type: ignore[assignment]
        row["passages"] = {
            key: [item[key] for item in passages] for key in ("is_selected", "passage_text", "url")
        }
        row["wellFormedAnswers"] = (
            row["wellFormedAnswers"] if isinstance(row["wellFormedAnswers"], list) else []
        )
    return {"train.parquet": parquet_of(rows)}


def parquet_of(rows: list[dict[str, Any]], group: int = 2) -> bytes:
    """Rows as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), buffer, row_group_size=group)
    return buffer.getvalue()


def squad(random: Random) -> Files:
    """A training and a test file, v1.1 or v2.0."""
    second = random.random() < 0.5

    def question(name: str, text: str, context: str, *answers: str) -> dict[str, Any]:
        found: dict[str, Any] = {"id": name, "question": text}
        found["answers"] = [
            {"text": answer, "answer_start": context.index(answer)} for answer in answers
        ]
        return found | ({"is_impossible": not answers} if second else {})

    def document(part: str) -> bytes:
        paragraphs = [
            {
                "context": TEXTS[0],
                "qas": [
                    question(f"{part}1", QUESTIONS[0], TEXTS[0], "green oil", "oil", "green oil")
                ],
            },
            {
                "context": TEXTS[3],
                "qas": [question(f"{part}2", QUESTIONS[2], TEXTS[3], "drei Kronen")],
            },
        ]
        if second:
            paragraphs.append(
                {"context": TEXTS[6], "qas": [question(f"{part}3", "where", TEXTS[6])]}
            )
        more = enumerate(texts(random)[len(TEXTS) :])
        paragraphs += [
            {"context": text, "qas": [question(f"{part}{at}x", "what", text, "lamp")]}
            for at, text in more
        ]
        record = {
            "version": "v2.0" if second else "1.1",
            "data": [{"title": f"Orvell {part}", "paragraphs": paragraphs}],
        }
        return json.dumps(
            record, ensure_ascii=random.random() < 0.5, indent=random.choice((None, 1))
        ).encode()

    return {"train.json": document("a"), "test.json": document("b")}


def beir(random: Random) -> Files:
    """A folder of BEIR."""
    corpus = [
        {"_id": f"d{at}", "title": "Orvell" if at % 3 else "", "text": text, "metadata": {}}
        for at, text in enumerate(texts(random))
    ]
    queries = [
        {"_id": f"q{at}", "text": text, "metadata": {"at": at, "kind": "invented"}}
        for at, text in enumerate(QUESTIONS)
    ]
    header = ("query-id", "corpus-id", "score")
    return {
        "corpus.jsonl": _json_lines(*corpus, ascii_only=random.random() < 0.3),
        "queries.jsonl": _json_lines(*queries),
        "qrels/test.tsv": _tsv(
            header,
            ("q0", "d0", 1),
            ("q1", "d1", 2),
            ("q1", "d0", 0),
            ("q1", "d0", 0),
            ("q2", "gone", 1),
        ),
        "qrels/dev.tsv": _tsv(header, ("q3", "d8", 1)),
    }


SGML = """<DOC>
<DOCNO> FT911-{number} </DOCNO>
<DATE>910514
</DATE>
<HEADLINE>
FT  14 MAY 91 / Orvell &amp; Sons
</HEADLINE>
<TEXT>
<P>{text}</P>
<!-- a note --> R&D &sect; 12
</TEXT>
<GRAPHIC>a gate</GRAPHIC>
</DOC>
"""
NITF = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE nitf SYSTEM "http://www.nitf.org/IPTC/NITF/3.3/specification/dtd/nitf-3-3.dtd">
<nitf><head><docdata><doc-id id-string="{number}"/></docdata></head><body><body.head><hedline><hl1>\
Orvell</hl1></hedline></body.head>
<body.content><block class="lead_paragraph"><p>{text}</p></block><block \
class="full_text"><p>{text}</p><p>More &lt; less.</p></block>
</body.content></body></nitf>
"""


def trec(random: Random) -> Files:
    """Documents of one kind, topics and qrels."""
    kind = random.choice(("sgml", "nyt", "wapo"))
    names = {"sgml": "FT911-{}", "nyt": "{}", "wapo": "w{}"}[kind]
    if kind == "sgml":
        docs = {
            "docs/ft911": "".join(
                SGML.format(number=number, text=text) for number, text in enumerate(texts(random))
            ).encode()
        }
        if random.random() < 0.3:
            docs = {name: data.replace("Café".encode(), b"Caf\xe9") for name, data in docs.items()}
    elif kind == "nyt":
        docs = {
            f"docs/{number}.xml": NITF.format(number=number, text=TEXTS[number]).encode()
            for number in range(3)
        }
    else:
        docs = {
            "docs/wapo.jl": _json_lines(
                *(_article(f"w{number}", text) for number, text in enumerate(texts(random)))
            )
        }
    return (
        docs
        | topics(random)
        | {
            "qrels.txt": _tsv(
                *((301 + at, 0, names.format(at), at % 2) for at in range(3)), separator=" "
            )
        }
    )


def _article(name: str, text: str) -> dict[str, Any]:
    contents = [
        {"content": "World", "mime": "text/plain", "type": "kicker"},
        {"content": "Orvell", "mime": "text/plain", "type": "title"},
        None,
        {
            "content": f"<p>{text}</p>",
            "subtype": "paragraph",
            "type": "sanitized_html",
            "mime": "text/html",
        },
    ]
    return {"id": name, "title": "Orvell", "contents": contents}


TAGGED = """<top>
<num> Number: {number}
<title> {text}
<desc> Description:
What is known of it &amp; why
<narr> Narrative:
Any document about it.
</top>

"""


def topics(random: Random) -> Files:
    """Topics 301 to 303 in one of their forms."""
    form = random.choice(("tagged", "xml", "tsv"))
    numbered = list(enumerate(QUESTIONS[:3], 301))
    if form == "tagged":
        return {
            "topics.txt": "".join(
                TAGGED.format(number=number, text=text) for number, text in numbered
            ).encode()
        }
    if form == "xml":
        inside = "".join(
            (
                f'<topic number="{number}"><query>{text}</query><narrative>x &lt; '
                "y</narrative></topic>\n"
            )
            for number, text in numbered
        )
        return {"topics.txt": f"<topics>\n{inside}</topics>\n".encode()}
    return {"topics.txt": _tsv(*numbered)}


def attached(random: Random) -> Files:
    """Queries and judgements beside a release."""
    return {
        **topics(random),
        "qrels.txt": _tsv(
            (301, 0, 0, 2), (302, "Q0", 1, 0), (303, 0, "gone", 3), separator=random.choice("\t ")
        ),
    }


def raw_tsv(random: Random) -> Files:
    """A collection.tsv on its own."""
    return {"collection.tsv": _tsv(*enumerate(texts(random)))}


def raw_jsonl(random: Random) -> Files:
    """Passages as JSON lines, under any of the names that are known."""
    name, key = random.choice(
        (
            ("id", "text"),
            ("_id", "text"),
            ("passage_id", "text"),
            ("docid", "text"),
            ("id", "contents"),
        )
    )
    records = [
        {name: at if random.random() < 0.2 else f"d{at}", "title": "Orvell", key: text}
        for at, text in enumerate(texts(random))
    ]
    return {"corpus.jsonl": _json_lines(*records, ascii_only=random.random() < 0.3)}


def packed(files: Files, form: str) -> Files:
    """The files as they lie on a disk: plain, each ``.gz`` or ``.zst`` or ``.z``, or all in one
    archive.
    """
    if form == "plain":
        return dict(files)
    if form.startswith("tar") or form == "tgz":
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:") as archive:
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        inner, outer = buffer.getvalue(), form.removeprefix("tar.").removeprefix("tar")
        return {f"release.{form}": _packed(inner, {"tgz": "gz"}.get(outer, outer))}
    return {f"{name}.{form}": _packed(data, form) for name, data in files.items()}


def _packed(data: bytes, form: str) -> bytes:
    if form == "gz":
        return gzip.compress(data, mtime=0)
    if form == "zst":
        import zstandard

        return zstandard.ZstdCompressor(write_checksum=True).compress(data)
    return _lzw(data) if form == "z" else data


def _lzw(data: bytes) -> bytes:
    """Unix compress with codes of nine bits that are cleared before they would grow: enough to be
    read by anything that reads ``.Z``.
    """
    bits, count = 0, 0
    out = bytearray(b"\x1f\x9d\x90")
    codes: list[int] = []
    for start in range(0, len(data), 200):
        codes += data[start : start + 200]
        codes.append(256)
        codes += [0] * (-len(codes) % 8)  # after a clear the reader skips to the next eighth code
    for code in codes:
        bits |= code << count
        count += 9
        while count >= 8:
            out.append(bits & 255)
            bits >>= 8
            count -= 8
    if count:
        out.append(bits & 255)
    return bytes(out)


SEEDS = {
    "msmarco": msmarco,
    "msmarco-docs": msmarco_docs,
    "orcas": orcas,
    "msmarco-qa": msmarco_qa,
    "squad": squad,
    "beir": beir,
    "trec": trec,
    "topics": topics,
    "attach": attached,
    "debias tsv": raw_tsv,
    "debias jsonl": raw_jsonl,
}
