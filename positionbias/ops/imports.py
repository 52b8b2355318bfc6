"""Published data sets, and the planted one, brought in as collections. One operation a source."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, redirect_stderr
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from positionbias.core.formatting import plural
from positionbias.core.inputs import CollectionLike
from positionbias.core.operation import Out, Overwrite, operation
from positionbias.core.places import Place, output_place, pasted
from positionbias.core.progress import hint, is_quiet, say
from positionbias.core.settings import Setting
from positionbias.engine.choose import Engine
from positionbias.formats.columns import Columns
from positionbias.formats.release_settings import (
    KEEP_UNJUDGED,
    SKIP,
    MsmarcoDocsSettings,
    MsmarcoSettings,
)
from positionbias.formats.trec_docs import Reading
from positionbias.formats.validation_draw import DrawnQueries, ValidationDraw
from positionbias.planted.settings import PlantedSettings

if TYPE_CHECKING:
    from positionbias.core.collection import Collection
    from positionbias.formats.table import TableSource
    from positionbias.formats.table_values import RowCounts

# in the order of posbias import --help; a new one needs no other line
__all__ = [
    "import_squad",
    "import_msmarco",
    "import_msmarco_docs",
    "import_orcas",
    "import_msmarco_qa",
    "import_tripclick",
    "import_trec",
    "import_irds",
    "import_beir",
    "import_table",
    "import_planted",
]

Places = Annotated[
    Sequence[Place],
    Setting(
        "A folder of the release's files, archives, or single files.",
        metavar="DIR|FILE...",
        place="read",
    ),
]
KeepUnjudged = Annotated[bool, Setting(KEEP_UNJUDGED, shown=False)]
_LEFT_OUT = {
    "judged_again": "pairs judged several times, kept once with the highest grade",
    "judgements_of_other_queries": "judgements of queries that are not there, left out",
    "blank_answers": "answers without text, left out",
    "answers_in_absent_passages": "answers in passages that are not there, left out",
}
_DOCUMENTS = {
    "sgml": "TREC SGML",
    "nyt": "New York Times XML",
    "wapo": "Washington Post JSON lines",
}


@operation
def import_squad(
    *,
    train: Annotated[
        Sequence[Place],
        Setting("A training file; repeatable.", metavar="FILE", place="read"),
    ] = (),
    test: Annotated[
        Place | None,
        Setting("The file to test on: SQuAD's development file.", metavar="FILE", place="read"),
    ] = None,
    validation: ValidationDraw = ValidationDraw(),
    out: Out,
    overwrite: Overwrite = False,
) -> Collection:
    """Bring in SQuAD v1.1 or v2.0, or a data set in its form.

    Give its JSON files, plain, .gz or .zst.

    Each paragraph is a passage. Files of others may say any version. Unanswerable questions are
    dropped and counted. ``validation`` takes whole articles where these come within a tenth of N,
    else whole passages.

    Returns:
        The collection, with splits train and test, as files are given, and, where asked for,
        validation.

    Raises:
        InputError: a file that is not in SQuAD's form, or a question id that stands in two files.
        SettingError: no file, or ``validation`` leaves no training question.

    Example:
        >>> import positionbias as pb
        >>> squad = pb.import_squad(train=["train-v1.1.json"], test="dev-v1.1.json", out="squad")
        >>> squad.answers("test")[0]
        Answer(query_id='dev', passage_id=..., text='green oil', start=25, end=34)
    """
    from positionbias.formats.squad import SquadSource
    from positionbias.formats.squad import import_squad as read
    from positionbias.formats.squad_json import VERSIONS

    collection = read(
        [Path(place) for place in train],
        None if test is None else Path(test),
        output_place(out),
        validation=validation.validation_queries,
        validation_by=validation.by,
        seed=validation.seed,
        overwrite=overwrite,
    )
    for item in collection.manifest.content_as(SquadSource, "source").files:
        if item.version not in VERSIONS.values():
            say(
                f"{item.role} file: its version is {item.version!r}, none of SQuAD's; read as in "
                "SQuAD's form"
            )
        if item.without_start:
            say(
                f"{item.role} file: {plural(item.without_start, 'answer')} without a start: "
                "searched in the passage by the text"
            )
        if item.moved:
            say(
                f"{item.role} file: {item.moved:,} answers do not stand at their start: searched "
                "in the passage, else without a place"
            )
        version = (
            f"SQuAD v{item.version}" if item.version in VERSIONS.values() else "in SQuAD's form"
        )
        say(
            f"{item.role} file, {version}: {item.questions:,} questions, "
            f"{item.unanswerable:,} unanswerable and dropped; {item.repeated_spans:,} repeated "
            "answer spans"
        )
    return _told(collection)


@operation
def import_msmarco(
    places: Places,
    *,
    release: MsmarcoSettings = MsmarcoSettings(),
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Collection:
    """Bring in MS MARCO passage ranking, from the release's files.

    Give a folder of them, collectionandqueries.tar.gz, or single files. They are read plain, as
    .gz, or inside a tar; any subset is enough. validation is dev/small, test the other judged dev
    queries; without dev/small, ``validation`` draws from train. top1000.dev becomes a run in
    OUT/runs, triples become training groups in OUT/trainsets.

    Returns:
        The collection.

    Raises:
        InputError: nothing to read, or a file that cannot be used as it is (line and place are
            named).

    Example:
        >>> import positionbias as pb
        >>> pb.import_msmarco(["msmarco"], out="msm")
        Collection('msm', 240 passages, splits train, validation, test)
    """
    from positionbias.formats.msmarco import import_msmarco as read

    work = partial(read, [Path(place) for place in places], output_place(out), release=release)
    collection = engine.write(work, overwrite=overwrite)
    _say_release(collection)
    return _told(collection)


@operation
def import_msmarco_docs(
    places: Places,
    *,
    fields: Annotated[
        Sequence[Literal["url", "title", "body"]],
        Setting(
            "What makes a document's text, in this order; repeatable. What stands in front "
            "is a position bias of its own."
        ),
    ] = ("url", "title", "body"),
    release: MsmarcoDocsSettings = MsmarcoDocsSettings(),
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Collection:
    """Bring in MS MARCO document ranking, from the release's files.

    Give a folder of them, archives, or single files. They are read plain, as .gz, or inside a tar;
    any subset is enough. test is docdev, eval docleaderboard; the top 100 become runs in OUT/runs.

    Returns:
        The collection.

    Raises:
        InputError: nothing to read, or a file that cannot be used as it is (line and place are
            named).

    Example:
        >>> import positionbias as pb
        >>> documents = pb.import_msmarco_docs(["msmarco-docs.tsv"], out="documents")
        >>> next(documents.passages())
        Passage(passage_id='D1', text='http://a.example Lamps The lamp burns green oil.')
    """
    from positionbias.formats.msmarco_docs import import_msmarco_docs as read

    work = partial(
        read, [Path(place) for place in places], output_place(out), fields=fields, release=release
    )
    collection = engine.write(work, overwrite=overwrite)
    _say_release(collection)
    return _told(collection)


@operation
def import_orcas(
    places: Places,
    *,
    documents: Annotated[
        CollectionLike | None,
        Setting(
            "A collection of MS MARCO's documents, whose passages and splits come along. Without "
            "it there are no passages.",
            metavar="COLLECTION",
            place="read",
        ),
    ] = None,
    skip: Annotated[Sequence[Literal["top100"]], Setting(SKIP, shown=False)] = (),
    keep_unjudged: KeepUnjudged = False,
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Collection:
    """Bring in ORCAS: queries, and the documents clicked for them.

    The documents are those of MS MARCO, the split is "orcas". Give orcas.tsv, or its files in
    TREC's form.

    Returns:
        The collection.

    Raises:
        InputError: nothing to read, or a file that cannot be used as it is (line and place are
            named).
        SettingError: ``documents`` has a split "orcas" already.

    Example:
        >>> import positionbias as pb
        >>> orcas = pb.import_orcas(["orcas.tsv"], out="orcas")
        >>> list(orcas.qrels("orcas"))
        [Qrel(query_id='1', passage_id='D1', grade=1), Qrel(query_id='2', passage_id='D2', grade=1)]
    """
    from positionbias.core.collection import find_collection
    from positionbias.formats.orcas import import_orcas as read

    work = partial(
        read,
        [Path(place) for place in places],
        output_place(out),
        documents=find_collection(documents) if documents else None,
        keep_unjudged=keep_unjudged,
        skip=skip,
    )
    collection = engine.write(work, overwrite=overwrite)
    _say_release(collection)
    return _told(collection)


@operation
def import_msmarco_qa(
    train: Annotated[
        Sequence[Place],
        Setting("Files whose questions become split train.", metavar="[FILE]...", place="read"),
    ] = (),
    *,
    validation: Annotated[
        Sequence[Place],
        Setting(
            "A file whose questions become split validation; repeatable.",
            metavar="FILE",
            place="read",
        ),
    ] = (),
    test: Annotated[
        Sequence[Place],
        Setting(
            "A file whose questions become split test; repeatable.", metavar="FILE", place="read"
        ),
    ] = (),
    selected_only: Annotated[
        bool,
        Setting("Keep no judgement of grade 0 for passages that were seen and not selected."),
    ] = False,
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Collection:
    """Bring in MS MARCO's QA releases: questions, answers, passages.

    The passages are those that the annotators saw.

    Each FILE is v1.1 (JSON lines), v2.1 (column-oriented JSON), either plain, .gz or .zst, or the
    Hub's Parquet; its content tells which. The questions of a FILE become split train, whatever its
    name says.

    Returns:
        The collection.

    Raises:
        InputError: a file in none of the three layouts, a broken row, one query id with two texts
            in one split.
        SettingError: no file.

    Example:
        >>> import positionbias as pb
        >>> qa = pb.import_msmarco_qa(["train_v1.1.json"], out="qa")
        >>> qa.queries("train")[0].text, qa.answers("train")[0].text
        ('what joins the banks of the Mirren', 'A stone bridge')
    """
    from positionbias.formats.msmarco_qa import QaSource
    from positionbias.formats.msmarco_qa import import_msmarco_qa as read

    given = {"train": train, "validation": validation, "test": test}
    work = partial(
        read,
        {split: [Path(file) for file in files] for split, files in given.items() if files},
        output_place(out),
        selected_only=selected_only,
    )
    collection = engine.write(work, overwrite=overwrite)
    source = collection.manifest.content_as(QaSource, "source")
    say(f"{source.passages.read:,} passages read, {source.passages.distinct:,} distinct")
    for split, counts in source.splits.items():
        say(f"{split}: {_counted({name: number for name, number in counts.items() if number})}")
    return _told(collection)


@operation
def import_tripclick(
    places: Places,
    *,
    skip: Annotated[Sequence[Literal["runs", "triples"]], Setting(SKIP, shown=False)] = (),
    keep_unjudged: KeepUnjudged = False,
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Collection:
    """Bring in TripClick: health queries and clicks.

    Give folders of the release's files, benchmark.tar.gz and the like, or single files. Split train
    is the training queries of head, torso and tail; head_validation, torso_validation,
    tail_validation, head_test, torso_test and tail_test stay apart. Judged by raw clicks; head
    queries by DCTR too, for --qrels-name dctr. A text is title and abstract. BM25 runs go to
    OUT/runs, triples to OUT/trainsets.

    Returns:
        The collection.

    Raises:
        InputError: nothing to read, or a file that cannot be used as it is (line and place are
            named).

    Example:
        >>> import positionbias as pb
        >>> tripclick = pb.import_tripclick(["tripclick"], out="clicks")
        >>> next(tripclick.passages())
        Passage(passage_id='11', text='Oil lamps and burns. ...')
    """
    from positionbias.formats.tripclick import import_tripclick as read

    work = partial(
        read,
        [Path(place) for place in places],
        output_place(out),
        keep_unjudged=keep_unjudged,
        skip=skip,
    )
    collection = engine.write(work, overwrite=overwrite)
    _say_release(collection)
    return _told(collection)


@operation
def import_trec(
    *,
    docs: Annotated[
        Sequence[Place],
        Setting("A file or folder of documents; repeatable.", metavar="PATH", place="read"),
    ],
    topics: Annotated[
        Sequence[str],
        Setting(
            "Topics of a split (without one: test). Repeatable; files of one split go together.",
            metavar="[SPLIT=]FILE",
            place="read",
        ),
    ] = (),
    qrels: Annotated[
        Sequence[str],
        Setting(
            "Judgements of a split, in four columns. Repeatable; files of one split go together.",
            metavar="[SPLIT=]FILE",
            place="read",
        ),
    ] = (),
    reading: Reading = Reading(),
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Collection:
    """Bring in TREC documents, topics and qrels.

    Each document is a passage.

    Documents may be plain, .gz, .zst or .z, in folders or tar archives. SGML text is what stands in
    the elements TEXT, HEADLINE, TITLE, HL, HEAD, TTL, DD, DATE, LP and LEADPARA. For Robust04 give
    the folders of FBIS, FR94, FT and LATimes.

    Returns:
        The collection.

    Raises:
        InputError: no documents, a file that cannot be used as it is, a judgement of a query that
            its split has not.

    Example:
        >>> import positionbias as pb
        >>> topics, qrels = "test=trec/topics.test.txt", "test=trec/qrels.test.txt"
        >>> pb.import_trec(docs=["trec/docs"], topics=[topics], qrels=[qrels], out="robust")
        Collection('robust', 240 passages, splits test)
    """
    from positionbias.formats.trec_import import TrecSource, split_and_name
    from positionbias.formats.trec_import import import_trec as read

    work = partial(
        read,
        [Path(place) for place in docs],
        [(split, Path(name)) for split, name in map(split_and_name, topics)],
        [(split, Path(name)) for split, name in map(split_and_name, qrels)],
        output_place(out),
        reading=reading,
    )
    collection = engine.write(work, overwrite=overwrite)
    source = collection.manifest.content_as(TrecSource, "source")
    kinds = ", ".join(
        f"{count:,} {name}" for kind, name in _DOCUMENTS.items() if (count := getattr(source, kind))
    )
    say(f"{source.documents:,} documents: {kinds}")
    remarks = {
        "empty": "without text",
        "not_utf8": f"not UTF-8 and read as {reading.encoding}",
        "outside": "bytes between documents left out",
    }
    for name, remark in remarks.items():
        if count := getattr(source, name):
            say(f"{count:,} {remark}")
    if numbers := source.renumbered:
        topic, number = next(iter(numbers.items()))
        say(
            f"{plural(len(numbers), 'topic')} renumbered as in the judgements: {topic} is "
            f"{number}{' …' * (len(numbers) > 1)}"
        )
    if skipped := source.skipped_files:
        named = ", ".join(f"{ending} {count:,}" for ending, count in skipped.items())
        say(f"{sum(skipped.values()):,} files of no known form left out ({named})")
    return _told(collection)


@operation
def import_irds(
    names: Annotated[Sequence[str], Setting("Ids of ir_datasets.", metavar="[SPLIT=]NAME...")],
    *,
    out: Out,
    overwrite: Overwrite = False,
) -> Collection:
    """Bring in data sets by their ids in ir_datasets.

    ir_datasets downloads and checks them.

        posbias import irds beir/scifact/train beir/scifact/test --out scifact
        posbias import irds train=msmarco-qna/train test=msmarco-qna/dev --out qna
        posbias import irds train=tripclick/train head_validation=tripclick/val/head \\
                head_validation.dctr=tripclick/val/head/dctr --out tc

    Several names share their documents and become splits; without SPLIT= the name tells it (dev is
    validation, else test). SPLIT.SET= brings further judgements of a split, for --qrels-name.

    msmarco-qna brings answers. Downloads are kept in $IR_DATASETS_HOME (default ~/.ir_datasets).

    Returns:
        The collection.

    Raises:
        InputError: an unknown id (near ones are named), ids with different documents, none with
            documents, a download that failed.
        SettingError: a split twice.
        DependencyError: the data set needs a package that is not installed.

    Example:
        >>> import positionbias as pb
        >>> pb.import_irds(["beir/scifakt/test"], out="scifact")
        Traceback (most recent call last):
        positionbias.core.errors.InputError: beir/scifakt/test: wanted the id of a data set in
        ir_datasets; found no such id; did you mean beir/scifact/test...
    """
    from positionbias.formats.irds import IrdsSource, split_of
    from positionbias.formats.irds import import_irds as read

    pairs = [name.partition("=") for name in names]
    chosen = [
        (first, last) if equals else (split_of(first), first) for first, equals, last in pairs
    ]
    with (
        open(os.devnull, "w", encoding="utf-8", newline="\n") as nowhere,
        redirect_stderr(nowhere) if is_quiet() else nullcontext(),
    ):  # ir_datasets has bars of its own
        collection = read(chosen, output_place(out), overwrite=overwrite)
    for split, counts in collection.manifest.content_as(IrdsSource, "source").splits.items():
        for name, count in counts.items():
            say(f"{split}: {count:,} {_LEFT_OUT[name]}")
    return _told(collection)


@operation
def import_beir(
    folder: Annotated[Place, Setting("The folder of the data set.", metavar="DIR", place="read")],
    *,
    titles: Annotated[
        bool,
        Setting(
            "Put a title before its text. What is known of a page then stands in front: a position "
            "bias of its own.",
            shown=False,
        ),
    ] = True,
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Collection:
    """Bring in a data set of BEIR, from its folder.

    DIR holds corpus.jsonl, queries.jsonl and qrels/*.tsv, plain, .gz or .zst; or, as MTEB's
    repositories, the same as JSON lines or Parquet in folders corpus, queries, and qrels or data.
    dev becomes split validation. Queries that no file of qrels names are kept in a split
    "unjudged". PosIR (a folder LANGUAGE/DOMAIN) comes in with the evidence span of each query as
    its answer.

        posbias import beir scifact --out scifact
        posbias import beir PosIR-Benchmark-v1/eng-Latn/accommodation_catering_hotel --out posir

    Returns:
        The collection.

    Raises:
        InputError: no corpus, a broken line (numbered), an id twice, a pair judged twice with two
            grades, a split without known queries.

    Example:
        >>> import positionbias as pb
        >>> pb.import_beir("beir", out="planted-again")
        Collection('planted-again', 240 passages, splits train, validation, test, fresh)
    """
    from positionbias.formats.beir import BeirSource
    from positionbias.formats.beir import import_beir as read
    from positionbias.formats.posir import SpanCounts

    work = partial(read, Path(folder), output_place(out), titles=titles)
    collection = engine.write(work, overwrite=overwrite)
    source = collection.manifest.content_as(BeirSource, "source")
    placed = "put in front" if titles else "which is left out"
    say(
        f"{source.corpus.titles:,} passages with a title, {placed}; {source.corpus.without_text:,} "
        "without a text"
    )
    if source.judgements_of_other_queries:
        say(f"{source.judgements_of_other_queries:,} {_LEFT_OUT['judgements_of_other_queries']}")
    if "spans" in collection.manifest.content:
        spans = collection.manifest.content_as(SpanCounts, "spans")
        say(f"{plural(spans.answers, 'answer')} where pos_char_span says")
        for cause, number in spans.left_out.items():
            say(f"{plural(number, 'span')} left out, {cause}")
    if source.repeated_judgements:
        say(
            f"{source.repeated_judgements:,} lines of qrels said again what an earlier one had said"
        )
    if not collection.splits:
        say("no queries.jsonl and no qrels: the corpus alone came in")
    return _told(collection)


@operation
def import_table(
    *tables: Annotated[
        Any,
        Setting(
            "Tables, folders of them, or hf:NAME[:SUBSET], a data set of the Hugging Face Hub.",
            metavar="[SPLIT=]FILE...",
            place="read",
        ),
    ],
    columns: Columns = Columns(),
    validation: ValidationDraw = ValidationDraw(),
    out: Out,
    overwrite: Overwrite = False,
) -> Collection:
    """Bring in your own tables of passages, queries and answers.

    They are JSON lines, a JSON list, CSV, TSV or Parquet; the text forms also as .gz or .zst. In
    Python also pandas frames, data sets of the package datasets, iterables of dictionaries, and
    mappings from splits to any of these.

        posbias import table golden.jsonl --passage chunk --query question --answer quote \\
                --out golden
        posbias import table train.parquet test=held-out.csv --answer quote --out mine
        posbias import table hf:rajpurkar/squad --out squad

    A data set of the Hub comes by the package datasets, from its cache where it is there, and so
    does the folder of a saved one; code of a data set is never run.

    A row is a passage with a query that it answers, or a passage alone. Columns that are not named
    are guessed by their names, and shown. SPLIT= is the split of a file's rows; without one the
    file's name tells it, else it is test. Rows that do not fit are counted by cause.

    Returns:
        The collection.

    Raises:
        InputError: a file in none of the forms, a broken row (its line is named), a column that is
            not there, an id with two texts, no row that fits.
        SettingError: ``validation`` leaves no training question.
        DependencyError: datasets is not installed.

    Example:
        >>> import positionbias as pb
        >>> golden = pb.import_table("golden.jsonl", out="golden")
        >>> golden.answers("test")[0]
        Answer(query_id=..., passage_id=..., text='green oil', start=None, end=None)
        >>> row = {"chunk": "The lamp burns green oil.", "question": "What burns?"}
        >>> pb.import_table([row], out="mine").queries("test")[0].text
        'What burns?'
    """
    from positionbias.formats.table import TableSource
    from positionbias.formats.table import import_table as read

    collection = read(
        tables, output_place(out), columns=columns, validation=validation, overwrite=overwrite
    )
    _say_rows(collection.manifest.content_as(TableSource, "source"))
    return _told(collection)


@operation
def import_planted(
    *, planted: PlantedSettings = PlantedSettings(), out: Out, overwrite: Overwrite = False
) -> Collection:
    """Make an invented collection whose position bias you set.

    What a model does with it can be held against a known truth.

    Returns:
        The collection, with splits train, validation and test.

    Raises:
        SettingError: sizes that do not go together.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import PlantedSettings
        >>> pb.import_planted(planted=PlantedSettings(queries=40, passages=80), out="small")
        Collection('small', 80 passages, splits train, validation, test)
    """
    from positionbias.planted.generator import write_planted

    return _told(write_planted(output_place(out), planted, overwrite=overwrite))


def _told(collection: Collection) -> Collection:
    """The collection, after what its validation split was drawn from, and where it is."""
    if "validation" in collection.manifest.content:
        say(f"validation: {_draw(collection.manifest.content_as(DrawnQueries, 'validation'))}")
    hint(
        f"written to {pasted(collection.path)}; look at it with: posbias collection show "
        f"{pasted(collection.path)}"
    )
    return collection


def _draw(drawn: DrawnQueries) -> str:
    if drawn.by == "query":
        return (
            f"{drawn.queries:,} queries drawn one by one; other queries of their passages stay in "
            "training"
        )
    units = {"passage": "groups of queries that share passages", "article": "whole articles"}[
        drawn.by
    ]
    short = (
        ""
        if drawn.queries == drawn.asked
        else f" of the {drawn.asked:,} asked for (no further one fits)"
    )
    return (
        f"{drawn.queries:,} queries{short}, {drawn.units:,} {units}; no training query has their "
        "passages"
    )


def _say_release(collection: Collection) -> None:
    """Say what of a release was missing, was not read or was left out, and what stands beside the
    collection.
    """
    from positionbias.core.manifest import read_manifest
    from positionbias.formats.release_import import ReleaseSource

    source = collection.manifest.content_as(ReleaseSource, "source")
    if source.missing:
        say(f"not there: {', '.join(source.missing)}")
    for why in dict.fromkeys(source.not_read.values()):
        say(
            f"not read ({why}): "
            f"{', '.join(name for name, reason in source.not_read.items() if reason == why)}"
        )
    for split, counts in source.left_out.items():
        say(f"left out of {split}: {_counted(counts)}")
    for run in sorted((collection.path / "runs").glob("*.run")):
        found = read_manifest(run).content
        told = (
            f"{found['unknown_queries']:,} queries and {found['unknown_pairs']:,} pairs name what "
            "is not in the collection"
        )
        more = f"; {told}" if found["unknown_queries"] or found["unknown_pairs"] else ""
        say(f"candidates: {pasted(run)}, {found['pairs']:,} of {found['queries']:,} queries{more}")
    for folder in sorted((collection.path / "trainsets").glob("*")):
        made = read_manifest(folder)
        groups = made.content_as(int, "groups")
        left_out = made.content_as(int, "lines") - groups
        say(
            f"training groups: {pasted(folder)}, {groups:,}; {left_out:,} lines of other queries, "
            "passages or texts left out"
        )


def _say_rows(source: TableSource) -> None:
    """Say what the columns of tables were taken for, and what became of their rows."""
    for name, columns in source.columns.items():
        say(f"{name}: {', '.join(f'{what} = {column}' for what, column in columns.items())}")
    for remark in row_remarks(source.counts):
        say(remark)


def row_remarks(counts: RowCounts) -> Iterator[str]:
    """Yield what became of the rows of tables, in sentences."""
    again = ", ".join(_again(what, number) for what, number in counts.again.items() if number)
    yield plural(counts.rows, "row") + (f"; standing again: {again}" if again else "")
    if counts.grades:
        yield "grades: " + ", ".join(
            f"{name} {'left out' if grade < 0 else grade}" for name, grade in counts.grades.items()
        )
    for cause, number in counts.left_out.items():
        yield f"{plural(number, 'row')} left out, {cause}; the first: {counts.first[cause]}"
    if counts.unanswerable:
        yield (
            f"{plural(counts.unanswerable, 'query')} with an empty list of answers left out; their "
            "passages stay"
        )
    if counts.not_relevant:
        yield f"answers of {plural(counts.not_relevant, 'pair')} judged not relevant left out"
    if counts.moved:
        said = "does not stand at its start" if counts.moved == 1 else "do not stand at their start"
        yield (
            f"{plural(counts.moved, 'answer')} {said}: searched in the passage, else without a "
            "place"
        )


def _again(what: str, number: int) -> str:
    first, _, rest = what.partition(" ")
    return (
        f"{plural(number, 'query' if first == 'queries' else first.removesuffix('s'))}"
        f"{rest and ' '}{rest}"
    )


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in counts.items())
