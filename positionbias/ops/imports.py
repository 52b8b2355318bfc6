"""Published data sets, and the planted one, brought in as collections. One operation a source."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from positionbias.core.inputs import CollectionLike
from positionbias.core.outcome import hint_collection
from positionbias.core.places import Place
from positionbias.core.settings import Setting
from positionbias.core.shared_settings import Out, Overwrite
from positionbias.engine.choose import Engine
from positionbias.formats.columns import Columns
from positionbias.formats.release_settings import (
    SKIP,
    KeepUnjudged,
    MsmarcoDocsSettings,
    MsmarcoSettings,
)
from positionbias.formats.trec_docs import Reading
from positionbias.formats.validation_draw import ValidationDraw
from positionbias.ops.operation import operation
from positionbias.planted.settings import PlantedSettings

if TYPE_CHECKING:
    from positionbias.core.collection import Collection

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
    from positionbias.formats.squad import import_squad as read

    return read(
        train,
        test,
        out,
        validation=validation.validation_queries,
        validation_by=validation.by,
        seed=validation.seed,
        overwrite=overwrite,
    )


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

    return engine.write(partial(read, places, out, release=release), overwrite=overwrite)


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

    work = partial(read, places, out, fields=fields, release=release)
    return engine.write(work, overwrite=overwrite)


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
    skip: Annotated[Sequence[Literal["top100"]], SKIP] = (),
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Collection:
    """Bring in ORCAS: queries, and the documents clicked for them.

    The documents are those of MS MARCO, the split is "orcas". Give orcas.tsv; candidates beside it
    (orcas-doctrain-top100) go to OUT/runs.

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
    from positionbias.formats.orcas import import_orcas as read

    work = partial(read, places, out, documents=documents, skip=skip)
    return engine.write(work, overwrite=overwrite)


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
    from positionbias.formats.msmarco_qa import import_msmarco_qa as read

    files = {"train": train, "validation": validation, "test": test}
    return read(files, out, selected_only=selected_only, overwrite=overwrite)


@operation
def import_tripclick(
    places: Places,
    *,
    skip: Annotated[Sequence[Literal["runs", "triples"]], SKIP] = (),
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

    work = partial(read, places, out, keep_unjudged=keep_unjudged, skip=skip)
    return engine.write(work, overwrite=overwrite)


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
    from positionbias.formats import trec_import

    asked = [trec_import.split_and_name(name) for name in topics]
    judged = [trec_import.split_and_name(name) for name in qrels]
    work = partial(trec_import.import_trec, docs, asked, judged, out, reading=reading)
    return engine.write(work, overwrite=overwrite)


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
    from positionbias.formats import irds

    return irds.import_irds([irds.split_and_id(name) for name in names], out, overwrite=overwrite)


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
    from positionbias.formats.beir import import_beir as read

    return engine.write(partial(read, folder, out, titles=titles), overwrite=overwrite)


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
    from positionbias.formats.table import import_table as read

    return read(tables, out, columns=columns, validation=validation, overwrite=overwrite)


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

    return hint_collection(write_planted(out, planted, overwrite=overwrite))
