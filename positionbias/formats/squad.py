"""Import SQuAD v1.1 and v2.0 (Rajpurkar et al. 2016, 2018) as a Collection, and export it.

Each paragraph of every file is a passage: no de-duplication, and paragraphs without an answerable
question stay. Unanswerable questions are dropped and counted. Repeated spans of several annotators
are kept once. An id is a hash of the article's number, the paragraph's number and the text,
independent of relevance [decision].

``manifest.content["source"]`` lists the articles of each file with their numbers of paragraphs, in
the stored order of passages. Steps that rewrite passages one for one, in order, copy it, so that
``write_squad`` finds each title.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.files import content_digest, unchanged
from positionbias.core.json_text import Json
from positionbias.core.manifest import Manifest, input_ref
from positionbias.core.progress import track
from positionbias.core.publish import atomic_file, atomic_folder
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.seeds import key64
from positionbias.core.split_tables import KIND
from positionbias.formats.exported import write_export_manifest
from positionbias.formats.imported import told
from positionbias.formats.squad_json import (
    VERSIONS,
    Article,
    Paragraph,
    Question,
    Span,
    line_of,
    read_squad,
    write_articles,
)
from positionbias.formats.validation_draw import (
    HeldOut,
    HoldOut,
    check_validation,
    draw_validation,
    part,
    sharing_passages,
)
from positionbias.text.formatting import plural

LICENCE = "CC BY-SA 4.0 (SQuAD; Rajpurkar et al. 2016, 2018)"
ROLE_OF_SPLIT = {"train": "train", "validation": "train", "test": "test"}
FILE_OF_ROLE = {"train": "train", "test": "dev"}


@dataclass(frozen=True, slots=True)
class SquadFile:
    """The manifest's facts about one file; ``articles`` has their titles and numbers of
    paragraphs.
    """

    role: str
    version: str
    paragraphs: int
    questions: int
    unanswerable: int
    repeated_spans: int
    articles: Sequence[tuple[str, int]]
    without_start: int = 0
    moved: int = 0


@dataclass(frozen=True, slots=True)
class SquadSource:
    """The manifest's facts about SQuAD's files."""

    format: str
    files: Sequence[SquadFile]


@dataclass(slots=True)
class _Import:
    """Records by split, the file of each id, and the articles, gathered while passages stream to
    disk.
    """

    queries: dict[str, list[Query]] = field(default_factory=lambda: {"train": [], "test": []})
    qrels: dict[str, list[Qrel]] = field(default_factory=lambda: {"train": [], "test": []})
    answers: dict[str, list[Answer]] = field(default_factory=lambda: {"train": [], "test": []})
    seen: dict[str, Path] = field(default_factory=dict)
    source: list[SquadFile] = field(default_factory=list)
    articles: dict[str, int] = field(default_factory=lambda: {"train": 0, "test": 0})
    places: list[tuple[str, str, str]] = field(
        default_factory=list
    )  # for each training question: its id, its article's title, its passage's text

    def file(self, role: str, path: Path) -> Iterator[Passage]:
        """Yield the passages of one file and keep its questions."""
        squad = read_squad(path)
        counts = {
            "paragraphs": 0,
            "questions": 0,
            "unanswerable": 0,
            "repeated_spans": squad.repeated_spans,
        }
        for article in squad.articles:
            for index, paragraph in enumerate(article.paragraphs):
                key = key64(0, "squad passage id", role, self.articles[role], index, paragraph.text)
                passage = Passage(f"p{key:016x}", paragraph.text)
                for question in paragraph.questions:
                    counts["questions"] += 1
                    counts["unanswerable"] += not question.spans
                    self.question(role, path, passage.passage_id, question)
                    if role == "train" and question.spans:
                        self.places.append((question.question_id, article.title, paragraph.text))
                counts["paragraphs"] += 1
                yield passage
            self.articles[role] += 1
        articles = [(article.title, len(article.paragraphs)) for article in squad.articles]
        self.source.append(
            SquadFile(
                role,
                squad.version,
                **counts,
                articles=articles,
                without_start=squad.without_start,
                moved=squad.moved,
            )
        )

    def question(self, role: str, path: Path, passage_id: str, question: Question) -> None:
        query_id = question.question_id
        if query_id in self.seen:
            raise bad_input(
                path,
                line=line_of(path, query_id, last=True),
                wanted="every question id once over all files",
                found=f"{query_id!r}, also in {self.seen[query_id]}",
                do="keep each question in one file",
            )
        self.seen[query_id] = path
        if question.spans:
            self.queries[role].append(Query(query_id, question.text))
            self.qrels[role].append(Qrel(query_id, passage_id, 1))
            found = (
                Answer(
                    query_id,
                    passage_id,
                    span.text,
                    span.start,
                    None if span.start is None else span.start + len(span.text),
                )
                for span in question.spans
            )
            self.answers[role].extend(found)

    def draw_validation(self, count: int, seed: int, by: HoldOut) -> HeldOut:
        """Move about ``count`` questions out of training, by whole articles or passages unless
        drawn by query.
        """
        groupings: dict[HoldOut, Mapping[str, str]] = {HoldOut.QUERY: {}}
        if by != HoldOut.QUERY:
            # a text may stand in two places
            texts = [Qrel(query_id, f"text {text}", 1) for query_id, _, text in self.places]
            # or an article in two files
            titles = [Qrel(query_id, f"title {title}", 1) for query_id, title, _ in self.places]
            groupings = {
                HoldOut.ARTICLE: sharing_passages([*titles, *texts]),
                HoldOut.PASSAGE: sharing_passages(texts),
            }
        options = {"purpose": "squad validation", "what": "answerable training questions"}
        drawn = draw_validation(self.queries["train"], count, seed, groupings=groupings, **options)
        self.queries["train"], self.queries["validation"] = part(
            self.queries["train"], drawn.query_ids
        )
        self.qrels["train"], self.qrels["validation"] = part(self.qrels["train"], drawn.query_ids)
        self.answers["train"], self.answers["validation"] = part(
            self.answers["train"], drawn.query_ids
        )
        return drawn


def import_squad(
    train: Sequence[Path | str],
    test: Path | str | None,
    out: Path | str,
    *,
    validation: int = 0,
    validation_by: HoldOut = HoldOut.PASSAGE,
    seed: int = 1,
    overwrite: bool = False,
) -> Collection:
    """Make a collection from SQuAD files, moving ``validation`` questions out of training.

    They are drawn by whole articles if these come within a tenth of ``validation``, else by whole
    passages; with ``validation_by`` "query" they are drawn one by one, and other questions of their
    passages stay in training.

    Raises:
        InputError: as ``read_squad``; also a question id in two files.
        SettingError: no file, or a ``validation`` that is negative, lacks training files, or leaves
            no training question.
    """
    check_validation(validation)
    files = [
        *(("train", Path(path)) for path in train),
        *([("test", Path(test))] if test is not None else []),
    ]
    if not files:
        raise SettingError(
            "--train, --test: wanted at least one file; found none; give one or both"
        )
    if validation and not train:
        raise SettingError(
            f"--validation-queries: wanted --train to draw from; found {validation} alone; leave "
            "--validation-queries out"
        )
    out, gathered = Path(out), _Import()
    with (
        create_collection(out, overwrite=overwrite) as writer,
        unchanged(path for _, path in files),
    ):
        writer.add_passages(
            p
            for role, path in files
            for p in track(gathered.file(role, path), path.name, unit="passages")
        )
        held_out = gathered.draw_validation(validation, seed, validation_by) if validation else None
        roles = {role for role, _ in files}
        for split in ("train", "validation", "test"):
            if split in gathered.queries and ROLE_OF_SPLIT[split] in roles:
                writer.add_split(
                    split, gathered.queries[split], gathered.qrels[split], gathered.answers[split]
                )
        writer.finish(
            Manifest(
                kind=KIND,
                name=out.name,
                command="import squad",
                settings={
                    "validation": validation,
                    **({"validation_by": validation_by.value} if validation else {}),
                    "seed": seed,
                },
                seed=seed,
                inputs=tuple(
                    input_ref(role, path, content_digest(path), artefact=out)
                    for role, path in files
                ),
                licence=LICENCE,
                notes=(
                    "Each paragraph of every file is a passage, without de-duplication.",
                    (
                        "Unanswerable questions are dropped and counted; tabs and line breaks "
                        "became spaces."
                    ),
                    "Validation questions are drawn by seed and removed from training, by whole "
                    "articles or passages unless by query.",
                ),
                content={
                    "source": asdict(SquadSource("squad", gathered.source)),
                    **({"validation": asdict(held_out.recorded())} if held_out else {}),
                },
            )
        )
    return told(Collection(out), chain.from_iterable(map(_remarks, gathered.source)))


def _remarks(file: SquadFile) -> Iterator[str]:
    named = file.version in VERSIONS.values()
    if not named:
        yield (
            f"{file.role} file: its version is {file.version!r}, none of SQuAD's; read as in "
            "SQuAD's form"
        )
    if file.without_start:
        yield (
            f"{file.role} file: {plural(file.without_start, 'answer')} without a start: searched "
            "in the passage by the text"
        )
    if file.moved:
        yield (
            f"{file.role} file: {file.moved:,} answers do not stand at their start: searched in "
            "the passage, else without a place"
        )
    form = f"SQuAD v{file.version}" if named else "in SQuAD's form"
    yield (
        f"{file.role} file, {form}: "
        f"{file.questions:,} questions, {file.unanswerable:,} unanswerable and dropped; "
        f"{file.repeated_spans:,} repeated answer spans"
    )


class Written(NamedTuple):
    """Counts of what ``write_squad`` wrote; ``left_out`` counts questions without an answer located
    in its passage.
    """

    articles: int
    paragraphs: int
    questions: int
    left_out: int


def write_squad(
    collection: Collection,
    path: Path | str,
    splits: Sequence[str],
    *,
    version: str = "1.1",
    overwrite: bool = False,
) -> Written:
    """Write a collection made from SQuAD as one SQuAD file: every paragraph of the splits' source
    files.

    ``train`` and ``validation`` came from the training files, ``test`` from the test file. After a
    rotation, offsets are those in the rotated text; a question whose spans were all cut is left out
    and counted, as SQuAD cannot express it.

    Raises:
        InputError: a collection not made from SQuAD, or no such split.
        SettingError: a version other than 1.1 and 2.0.
    """
    if version not in VERSIONS:
        raise SettingError(
            f"--squad-version: wanted 1.1 or 2.0; found {version!r}; give one of these"
        )
    version = VERSIONS[version]
    if collection.manifest.content_as(dict[str, Json], "source", {}).get("format") != "squad":
        raise bad_input(
            collection.path,
            wanted="a collection made from SQuAD",
            found=f"one made by {collection.manifest.command!r}",
            do="import SQuAD files first: posbias import squad …",
        )
    questions, left_out = _questions_by_passage(collection, splits)
    roles = {ROLE_OF_SPLIT[split] for split in splits}
    counts = {"articles": 0, "paragraphs": 0, "questions": 0}
    with (
        atomic_file(path, overwrite=overwrite) as partial,
        open(partial, "w", encoding="utf-8", newline="\n") as handle,
    ):
        write_articles(handle, _articles(collection, roles, questions, counts), version)
    return Written(**counts, left_out=left_out)


def write_squad_release(
    collection: Collection,
    folder: Path | str,
    splits: Sequence[str],
    *,
    version: str = "1.1",
    overwrite: bool = False,
) -> Written:
    """Write ``train-vVERSION.json`` (train and validation) and ``dev-vVERSION.json`` (test) as
    needed; return their total counts.

    Raises:
        InputError: as ``write_squad``; also a split from neither file.
        SettingError: as ``write_squad``.
    """
    by_role: dict[str, list[str]] = {}
    for split in splits:
        if split not in ROLE_OF_SPLIT:
            raise bad_input(
                collection.path,
                wanted=f"splits of SQuAD ({', '.join(ROLE_OF_SPLIT)})",
                found=repr(split),
                do="choose splits with --split",
            )
        by_role.setdefault(ROLE_OF_SPLIT[split], []).append(split)
    with atomic_folder(folder, overwrite=overwrite) as partial:
        files = [
            write_squad(
                collection,
                partial / f"{FILE_OF_ROLE[role]}-v{version}.json",
                of_role,
                version=version,
            )
            for role, of_role in by_role.items()
        ]
        written = Written(*map(sum, zip(*files, strict=True)))
        write_export_manifest(partial, folder, "squad", collection, splits, written._asdict())
    return written


def _articles(
    collection: Collection,
    roles: set[str],
    questions: Mapping[str, list[Question]],
    counts: dict[str, int],
) -> Iterator[Article]:
    """Stream the articles of these roles from the passages, in stored order; update ``counts``."""
    stored = collection.passages()
    for file in collection.manifest.content_as(SquadSource, "source").files:
        for title, count in file.articles:
            passages = list(islice(stored, count))
            if file.role in roles:
                paragraphs = [
                    Paragraph(passage.text, tuple(questions.get(passage.passage_id, ())))
                    for passage in passages
                ]
                counts["articles"] += 1
                counts["paragraphs"] += count
                counts["questions"] += sum(len(paragraph.questions) for paragraph in paragraphs)
                yield Article(title, tuple(paragraphs))


def _questions_by_passage(
    collection: Collection, splits: Sequence[str]
) -> tuple[dict[str, list[Question]], int]:
    """Return questions by the passage that answers them, and the number without a located
    answer.
    """
    by_passage: dict[str, list[Question]] = {}
    left_out = 0
    for split in splits:
        spans: dict[tuple[str, str], list[Span]] = {}
        for answer in collection.answers(split):
            if answer.start is not None:
                spans.setdefault((answer.query_id, answer.passage_id), []).append(
                    Span(answer.text, answer.start)
                )
        passage_of = dict(spans.keys())
        for query in collection.queries(split):
            passage_id = passage_of.get(query.query_id)
            if passage_id is None:
                left_out += 1
            else:
                question = Question(
                    query.query_id, query.text, tuple(spans[query.query_id, passage_id])
                )
                by_passage.setdefault(passage_id, []).append(question)
    return by_passage, left_out
