"""Whether what a reader made is whole: every text readable, every record accounted for, counted by
other means than the reader's.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from positionbias import rotate
from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.manifest import read_manifest
from positionbias.core.records import Qrel, Query
from positionbias.positions.raw_files import RotatedFile

BOM = b"\xef\xbb\xbf"
TEXT_KEYS = ("text", "contents", "passage", "passage_text", "segment", "content", "body")


QA_COLUMNS = ("answers", "passages", "query", "query_id", "query_type", "wellFormedAnswers")


class Fault(AssertionError):
    """Something is wrong with what a reader made."""


def require(holds: bool, what: str) -> None:
    """Raise ``Fault`` unless it holds."""
    if not holds:
        raise Fault(what)


def same(stored: object, given: object, what: str) -> None:
    """Raise ``Fault`` where two counts differ."""
    require(stored == given, f"{what}: {given} in the input, {stored} accounted for")


def unpacked(data: bytes, what: str) -> bytes:
    """What compressed bytes hold; a reader that took what cannot be unpacked has lost something."""
    try:
        if data[:2] == b"\x1f\x8b":
            return unpacked(gzip.decompress(data), what)
        if data[:4] == b"\x28\xb5\x2f\xfd":
            import zstandard

            whole, rest = io.BytesIO(), data
            while rest:
                frame = zstandard.ZstdDecompressor().decompressobj()
                whole.write(frame.decompress(rest))
                if not frame.eof:
                    raise EOFError("the last frame is not whole")
                rest = frame.unused_data
            return unpacked(whole.getvalue(), what)
    except Exception as error:
        raise Fault(f"{what} was read, and cannot be unpacked: {error}") from error
    return data


def contents(path: Path) -> bytes:
    """A file's content, unpacked, without a byte-order mark."""
    return unpacked(path.read_bytes(), path.name).removeprefix(BOM)


def lines_of(data: bytes) -> list[bytes]:
    """Lines as ``\\n`` ends them; what follows the last one is a line unless it is empty."""
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def filled(data: bytes) -> list[bytes]:
    """The lines that are not blank."""
    return [line for line in lines_of(data) if line.decode().strip()]


def check_collection(collection: Collection, *, empty: bool = False) -> Collection:
    """Open it anew and read all of it; ``empty``: there may be no passages, as any subset of a
    release's files is enough.
    """
    collection = Collection(collection.path)
    passages = list(collection.passages())
    ids = [passage.passage_id for passage in passages]
    require(
        len(passages) == len(collection) and (empty or bool(passages)),
        f"{len(passages)} passages, {len(collection)} in the manifest",
    )
    require(len(set(ids)) == len(ids) and all(ids), "a passage id that is empty or stands twice")
    require(
        collection.texts(ids) == [passage.text for passage in passages],
        "a passage that is not found by its id",
    )
    known = set(ids)
    for split, facts in collection.manifest.content["splits"].items():
        queries, answers = collection.queries(split), collection.answers(split)
        judged = [
            *collection.qrels(split),
            *(q for name in collection.qrels_names(split) for q in collection.qrels(split, name)),
        ]
        names = {query.query_id for query in queries}
        same(len(queries), facts["queries"], f"queries of {split}")
        require(
            len(names) == len(queries) and all(names),
            f"a query id of {split} that is empty or stands twice",
        )
        require(
            names.issuperset(record.query_id for record in [*judged, *answers]),
            f"a record of {split} without its query",
        )
        absent = sum(record.passage_id not in known for record in judged)
        same(
            collection.manifest.content.get("absent", {}).get(split, {}).get("judgements", 0),
            absent,
            f"absent judgements of {split}",
        )
        texts = dict(passages)
        for answer in answers:
            require(answer.passage_id in texts, "an answer without its passage")
            found = (
                answer.text
                if answer.start is None
                else texts[answer.passage_id][answer.start : answer.end]
            )
            require(found == answer.text, "an answer that is not at its offsets")
    return collection


@dataclass(frozen=True)
class Layout:
    """A release of many files: the role of each by name (a pattern), and which roles make which
    splits; ``passages`` have one file.
    """

    roles: Mapping[str, str]
    groups: Sequence[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]]
    triples: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()

    def role_of(self, name: str) -> str | None:
        """The role of a file, by its bare name."""
        return next(
            (
                match.expand(role)
                for pattern, role in self.roles.items()
                if (match := re.fullmatch(pattern, name))
            ),
            None,
        )


_PARTS = r"(queries|qrels)\.(train|dev|eval|dev\.small|eval\.small)"
LAYOUTS = {
    "msmarco": Layout(
        roles={
            r"(collection)(\.tsv)?": r"\1",
            rf"({_PARTS})(\.tsv)?": r"\1",
            r"(top1000\.(dev|eval|train))(\.tsv)?": r"\1",
            r"(qidpidtriples(\..+?)?)(\.tsv)?": r"\1",
            r"(triples\.train\.(small|full))(\.tsv)?": r"\1",
        },
        groups=(
            (("train",), ("queries.train",), ("qrels.train",)),
            (
                ("validation", "test"),
                ("queries.dev.small", "queries.dev"),
                ("qrels.dev.small", "qrels.dev"),
            ),
            (("eval",), ("queries.eval", "queries.eval.small"), ("qrels.eval",)),
        ),
        triples=("qidpidtriples", "triples"),
        runs=("top1000",),
    ),
    "msmarco-docs": Layout(
        roles={
            r"msmarco-docs\.tsv": "collection",
            r"msmarco-doc(train|dev)-(queries|qrels)\.tsv": r"\2.\1",
            r"docleaderboard-queries\.tsv": "queries.eval",
            r"((msmarco-doc(train|dev|test20\d\d)|docleaderboard)-top100)(\.tsv)?": r"\1",
        },
        groups=(
            (("train",), ("queries.train",), ("qrels.train",)),
            (("test",), ("queries.dev",), ("qrels.dev",)),
            (("eval",), ("queries.eval",), ()),
        ),
        runs=("msmarco", "docleaderboard"),
    ),
    "orcas": Layout(
        roles={
            r"orcas\.tsv": "clicks",
            r"(orcas-doctrain-top100)(\.tsv)?": r"\1",
        },
        groups=((("orcas",), ("clicks",), ("clicks",)),),
        runs=("orcas",),
    ),
}


def check_release(name: str, folder: Path, collection: Collection) -> None:
    """Lines of passages, queries, judgements, candidates and triples: stored, or counted as left
    out.
    """
    layout, source = LAYOUTS[name], collection.manifest.content["source"]
    # of a role that has two files one is not read: which, is the reader's to say
    members = {
        role: found for role, found in _release(layout, folder).items() if role in source["files"]
    }
    held = {
        role: unpacked(found[0], role).removeprefix(BOM)
        for role, found in members.items()
        if len(found) == 1
    }
    if "collection" in held:
        same(len(collection), len(lines_of(held["collection"])), "passages")
    for splits, queries, qrels in layout.groups:
        if set(source["files"]) & {*queries, *qrels} <= set(held):
            _check_group(
                splits,
                [held.get(role, b"") for role in queries],
                [(role, held.get(role, b"")) for role in qrels],
                collection,
            )
    for role, data in held.items():
        if role.startswith(layout.runs):
            run, count = collection.path / "runs" / f"{role}.run", len(filled(data))
            same(read_manifest(run, kind="run").content["pairs"], count, role)
            same(len(lines_of(run.read_bytes())), count, role)
        elif layout.triples and role.startswith(layout.triples):
            groups = Groups(collection.path / "trainsets" / role)
            same(groups.manifest.content["lines"], len(lines_of(data)), role)
            require(
                sum(1 for _ in groups) == len(groups) <= len(lines_of(data)), f"groups of {role}"
            )


def _check_group(
    splits: Sequence[str],
    queries: Sequence[bytes],
    qrels: Sequence[tuple[str, bytes]],
    collection: Collection,
) -> None:
    lost = collection.manifest.content["source"]["left_out"].get(splits[-1], {})
    here = [split for split in splits if split in collection.splits]
    ids = {line.split(b"\t")[0] for data in queries for line in lines_of(data)}
    stored = sum(len(collection.queries(split)) for split in here) + lost.get("unjudged_queries", 0)
    same(stored, len(ids), f"queries of {' and '.join(splits)}")
    pairs = {_pair(line.decode(), role) for role, data in qrels for line in filled(data)}
    stored = sum(len(collection.qrels(split)) for split in here) + lost.get(
        "judgements_without_query", 0
    )
    same(stored, len(pairs), f"judgements of {' and '.join(splits)}")


def _pair(line: str, role: str) -> tuple[str, ...]:
    return tuple((line.split("\t") if role == "clicks" else line.split())[:3:2])


def _release(layout: Layout, folder: Path) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for path in sorted(folder.iterdir()):
        name = path.name.removesuffix(".gz").removesuffix(".zst")
        for member, data in (
            _members(path) if name.endswith((".tar", ".tgz")) else [(name, path.read_bytes())]
        ):
            role = layout.role_of(
                member.rpartition("/")[2].removesuffix(".gz").removesuffix(".zst")
            )
            if role is not None:
                found.setdefault(role, []).append(data)
    return found


def _members(path: Path) -> list[tuple[str, bytes]]:
    data = contents(path)
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            return [
                (info.name, archive.extractfile(info).read()) for info in archive if info.isfile()
            ]  # type: ignore[union-attr]
    except (tarfile.TarError, OSError) as error:
        raise Fault(f"{path.name} was read, and is no whole archive: {error}") from error


def check_qa(path: Path, collection: Collection) -> None:
    """Rows and passages."""
    counts, rows = collection.manifest.content["source"]["splits"]["train"], _qa_rows(path)
    same(counts["rows"], len(rows), "rows")
    same(counts["queries"] + counts["merged_rows"], len(rows), "rows that became queries")
    texts = [text for row in rows for text in _qa_texts(row["passages"])]
    same(len(collection), len(set(texts)), "distinct passages")
    if not counts["merged_rows"] and all(_selected(row["passages"]) <= 1 for row in rows):
        given = sum(len(row.get("answers") or []) for row in rows)
        lost = sum(
            counts[name]
            for name in (
                "no_answer_present",
                "empty_answers",
                "repeated_answers",
                "answers_without_selected_passage",
            )
        )
        same(len(collection.answers("train")) + lost, given, "answers")


def _qa_rows(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    if data.startswith(b"PAR1"):
        import pyarrow.parquet as pq

        return pq.read_table(io.BytesIO(data)).to_pylist()
    data = contents(path)
    try:
        # columns that the reader does not know may be anything, even no text
        columns = json.loads(data.decode("utf-8", "replace"))
        if isinstance(columns["query"], dict):
            by_row = {
                name: {int(row): value for row, value in columns[name].items()}
                for name in QA_COLUMNS
                if name in columns
            }
            return [{name: found[row] for name, found in by_row.items()} for row in by_row["query"]]
    except ValueError:  # more than one line
        pass
    return [json.loads(line) for line in filled(data)]


def _qa_texts(passages: Any) -> list[str]:
    return (
        passages["passage_text"]
        if isinstance(passages, dict)
        else [item["passage_text"] for item in passages]
    )


def _selected(passages: Any) -> int:
    marks = (
        (passages.get("is_selected") or [])
        if isinstance(passages, dict)
        else [item.get("is_selected") for item in passages]
    )
    return sum(mark == 1 for mark in marks)


def check_squad(files: Mapping[str, Path], collection: Collection) -> None:
    """Paragraphs, questions and answers."""
    paragraphs = questions = answers = dropped = 0
    for path in files.values():
        for article in json.loads(contents(path))["data"]:
            for paragraph in article["paragraphs"]:
                paragraphs += 1
                for question in paragraph["qas"]:
                    questions += 1
                    if question.get("is_impossible"):
                        dropped += 1
                    else:
                        answers += len(question["answers"])
    told = collection.manifest.content["source"]["files"]
    same(len(collection), paragraphs, "paragraphs")
    same(sum(item["unanswerable"] for item in told), dropped, "unanswerable questions")
    same(
        sum(len(collection.queries(split)) for split in collection.splits),
        questions - dropped,
        "questions",
    )
    kept = sum(len(collection.answers(split)) for split in collection.splits)
    same(kept + sum(item["repeated_spans"] for item in told), answers, "answers")


def check_beir(folder: Path, collection: Collection) -> None:
    """Lines of corpus, queries and qrels."""

    def one(stem: str) -> bytes:
        return next(
            (
                contents(path)
                for ending in ("", ".gz", ".zst")
                if (path := folder / f"{stem}{ending}").is_file()
            ),
            b"",
        )

    same(len(collection), len(filled(one("corpus.jsonl"))), "passages")
    queries = {query.query_id for split in collection.splits for query in collection.queries(split)}
    same(len(queries), len(filled(one("queries.jsonl"))), "queries")
    lines = [
        line
        for path in (folder / "qrels").glob("*.tsv*")
        if re.fullmatch(r".*\.tsv(\.gz|\.zst)?", path.name)
        and not path.name.removesuffix(path.suffix).endswith((".gz", ".zst"))
        for line in _judgements(path)
    ]
    stored = sum(len(collection.qrels(split)) for split in collection.splits)
    source = collection.manifest.content["source"]
    left_out = source["repeated_judgements"] + source.get("judgements_of_other_queries", 0)
    same(stored + left_out, len(lines), "judgements")


def _judgements(path: Path) -> list[bytes]:
    lines = lines_of(contents(path))
    header = bool(lines) and lines[0].removesuffix(b"\r").split(b"\t") == [
        b"query-id",
        b"corpus-id",
        b"score",
    ]
    return [line for line in lines[header:] if line.decode().strip()]


def check_trec(docs: Sequence[Path], qrels: Path | None, collection: Collection) -> None:
    """Documents, and lines of qrels."""
    source = collection.manifest.content["source"]
    same(len(collection), source["documents"], "documents")
    files = [
        path
        for place in docs
        for path in ([place] if place.is_file() else sorted(place.rglob("*")))
    ]
    plain = [
        path.read_bytes() for path in files if path.is_file() and not path.name.startswith(".")
    ]
    if (
        set(source) & {"sgml", "nyt", "wapo"} == {"sgml"}
        and len(plain) == 1
        and plain[0].lstrip(BOM).lstrip()[:1] == b"<"
    ):
        same(len(collection), len(re.findall(rb"<DOC\s*>", plain[0], re.IGNORECASE)), "documents")
    if (
        "sgml" not in source
        and "wapo" not in source
        and not any(path.name.startswith("release") for path in files)
    ):
        same(len(collection) + sum(source["skipped_files"].values()), len(plain), "files")
    if qrels is not None:
        same(len(collection.qrels("test")), len(filled(contents(qrels))), "judgements")


def check_topics(path: Path, queries: Sequence[Query]) -> None:
    """At least one query, each once, with text that can be written."""
    names = [query.query_id for query in queries]
    require(
        bool(names) and len(set(names)) == len(names) and all(names),
        "topics without an id, or twice",
    )
    for query in queries:
        for text in (query.query_id, query.text, *query.fields, *query.fields.values()):
            text.encode()
    data = contents(path)
    tops = len(re.findall(rb"<top\b[^>]*>", data, re.IGNORECASE))
    if tops and data.lstrip().startswith(b"<") and b"\t" not in data.lstrip().split(b"\n")[0]:
        same(len(queries), tops, "topics")


def check_attached(
    queries_path: Path, qrels_path: Path, queries: Sequence[Query], qrels: Sequence[Qrel]
) -> None:
    """Queries as ``check_topics``, or a line each; a judgement a line."""
    data = contents(queries_path)
    if data.lstrip().startswith(b"<"):
        check_topics(queries_path, queries)
    else:
        same(len(queries), len(lines_of(data)), "queries")
    same(len(qrels), len(filled(contents(qrels_path))), "judgements")


def check_raw(kind: str, source: Path, target: Path, rotated: RotatedFile) -> None:
    """Every passage there, and cut where the function for one text cuts it."""
    written = read_manifest(target, kind="passages")
    require(written.content["checksum"] == rotated.checksum, "another checksum in the manifest")
    before, after = contents(source), unpacked(target.read_bytes(), target.name)
    lines, out = lines_of(before), lines_of(after)
    same(len(out), len(lines), "lines")
    same(before.endswith(b"\n"), after.endswith(b"\n"), "the last newline")
    passages = 0
    for line, turned in zip(lines, out, strict=True):
        if kind == "tsv":
            passages += 1
            _check_tsv_line(
                line, turned, rotated, last=line is lines[-1] and not before.endswith(b"\n")
            )
        elif line.strip(b" \t\r"):
            passages += _check_json_line(line, turned, rotated)
        else:
            require(line == turned, "a blank line that changed")
    same(written.content["passages"], passages, "passages")


def _check_tsv_line(line: bytes, turned: bytes, rotated: RotatedFile, *, last: bool) -> None:
    name, _, text = line.decode().partition("\t")
    end = "\r" if text.endswith("\r") and not last else ""
    text = text.removesuffix(end) if end else text
    same(turned.decode(), f"{name}\t{_turned(text, name, rotated)}{end}", "a line")


def _turned(text: str, name: str, rotated: RotatedFile) -> str:
    return rotate(text, name, rotated.rotation.seed, words=rotated.rotation.words)


def _check_json_line(line: bytes, turned: bytes, rotated: RotatedFile) -> int:
    before, after = json.loads(line), json.loads(turned)
    same(list(after), list(before), "keys")
    key = next(key for key in TEXT_KEYS if isinstance(before.get(key), str))
    require(
        all(_alike(after[name], before[name]) for name in before if name != key),
        "another value changed",
    )
    names = [
        str(before[name]) for name in before if name != key and isinstance(before[name], str | int)
    ]
    require(
        after[key] in {_turned(before[key], name, rotated) for name in names},
        "a text that is not the rotation of its text",
    )
    return 1


def _alike(one: Any, other: Any) -> bool:
    return one == other or repr(one) == repr(other)  # NaN
