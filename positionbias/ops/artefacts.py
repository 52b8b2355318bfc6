"""Exports in published forms, checkpoints on the Hub, pages about results, and verification of
artefacts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from positionbias.core.manifest import read_manifest
from positionbias.core.outcome import Measurements, Written
from positionbias.core.places import Place, input_place
from positionbias.core.settings import Setting
from positionbias.core.shared_settings import Out, Overwrite, Source, Splits, WithTexts
from positionbias.engine.choose import Engine
from positionbias.ops.operation import operation

if TYPE_CHECKING:
    from positionbias.models.hub import Pushed
    from positionbias.report.showing import Page
    from positionbias.report.verification import Verification

Form = Literal["msmarco", "beir", "squad", "trec"]


@operation
def export(
    collection: Source,
    *,
    to: Annotated[Form, Setting("The published form to write.")],
    splits: Splits = (),
    squad_version: Annotated[
        Literal["1.1", "2.0"] | None,
        Setting("With --to squad: which form.", absent="1.1", shown=False),
    ] = None,
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Written:
    """Write ``collection`` in the files of a published form; importing them gives the same content
    back.

        msmarco  collection.tsv, queries.*.tsv, qrels.*.tsv
        beir     corpus.jsonl, queries.jsonl, qrels/*.tsv
        trec     docs/*.sgml, topics.*.txt, qrels.*.txt
        squad    train-v1.1.json (with validation), dev-v1.1.json (test)

    SQuAD's form takes a collection that came from SQuAD, rotated or not, with the offsets that hold
    now. What a form has no place for is counted.

    Returns:
        The folder, and its counts as rows.

    Raises:
        SettingError: a version of SQuAD with another form.
        InputError: no such split, or a collection that the form cannot hold.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> print(pb.export("planted", to="beir", out="planted-beir"))
        planted: 240 passages, 90 queries, 188 judgements, 128 answers left out
    """
    from positionbias.formats.export import export as write

    return write(collection, to, splits, squad_version, engine, out, overwrite=overwrite)


@operation
def push(
    checkpoint: Annotated[
        Place, Setting("The checkpoint: a folder, or its name under $POSBIAS_HOME.", place="read")
    ],
    repo: Annotated[
        str, Setting("The model repository, as USER/NAME; it is made where there is none.")
    ],
    *,
    private: Annotated[bool, Setting("Make the repository private, if it is made.")] = False,
    results: Annotated[
        Sequence[Place],
        Setting(
            "What was measured of it, for its model card (--out of audit, evaluate …).",
            metavar="DIR",
            place="read",
        ),
    ] = (),
) -> Pushed:
    """Upload a checkpoint with its model card to the Hugging Face Hub.

    Every file is compared with its digest first. The token is that of the Hub's own library:
    $HF_TOKEN, or hf auth login.

        posbias evaluate --collection squad bm25.run cat.run --out measured
        posbias model push cat.ckpt USER/NAME --results measured

    Returns:
        The address, and how much it holds.

    Raises:
        InputError: not a checkpoint of ours, a damaged one, results of another model, or the Hub
            refuses it.

    Example:
        >>> import positionbias as pb
        >>> pb.push("test.run", "me/ranker")
        Traceback (most recent call last):
        positionbias.core.errors.InputError: test.run: wanted a posbias checkpoint; found a run;
        give the right path
    """
    from positionbias.models.hub import push_checkpoint
    from positionbias.report.showing import card_section

    place = input_place(checkpoint)
    manifest = read_manifest(place, kind="checkpoint")
    sections = [card_section(input_place(folder), manifest) for folder in results]
    return push_checkpoint(place, repo, private=private, more="\n\n".join(sections))


@operation
def make_report(
    folder: Annotated[
        Place,
        Setting(
            "The results: the --out of a study or measuring command.", metavar="DIR", place="read"
        ),
    ],
    *,
    title: Annotated[str | None, Setting("The page's title; by default the study's name.")] = None,
    tables: Annotated[
        Place | None,
        Setting(
            "Also write every table there, as CSV and as LaTeX.", metavar="DIR", place="written"
        ),
    ] = None,
    texts: WithTexts = True,
    out: Out,
    overwrite: Overwrite = False,
) -> Page:
    """Write one self-contained HTML page about the results in ``folder``: the --out of a study or
    measuring command.

    The page needs no network, can be read on a phone, in dark mode and on paper, and holds every
    table as CSV and LaTeX.

        posbias report squad-study --out report.html --tables tables

    Returns:
        The page, its results and tables.

    Raises:
        InputError: a folder without results, or with damaged ones.
        OutputExistsError: something stands at ``out`` or ``tables`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> found = pb.histogram(["planted"], splits=["test"], out="positions")
        >>> page = pb.make_report("positions", out="report.html")
        >>> page.path, list(page.tables)
        (PosixPath('report.html'), ['positions', 'answers'])
    """
    from positionbias.report.showing import page_of

    return page_of(
        input_place(folder), Path(out), tables, title=title, texts=texts, overwrite=overwrite
    )


def load(folder: Place) -> Measurements:
    """Read results that were saved: the --out of a measuring command or a study, or what ``save``
    wrote.

    Args:
        folder: The folder, or its name under $POSBIAS_HOME.

    Returns:
        What the command gave back: an ``Audit`` of an audit.

    Raises:
        InputError: a folder without results, or with damaged ones.

    Example:
        >>> import positionbias as pb
        >>> saved = pb.audit_systems("planted", ["test.run"]).save("audited")
        >>> again = pb.load("audited")
        >>> again
        Audit('Audit of bm25 on planted', 8 rows)
        >>> print(again.verdict)
        bm25: cannot tell from one run; harder questions may have their answers elsewhere.
        ...
    """
    from positionbias.audit.run import Audit
    from positionbias.report.showing import load_results

    return load_results(input_place(folder, flag="folder"), {"audit": Audit})


@operation
def verify(
    paths: Annotated[
        Sequence[Place],
        Setting(
            "Artefacts (collections, runs, checkpoints, results …) or folders of them.",
            metavar="PATHS...",
            place="read",
        ),
    ],
) -> Verification:
    """Compare every file of the artefacts at ``paths`` with the digests in their manifests.

    Artefacts are collections, runs, checkpoints, results …, or folders of them. Exits with 2 if
    anything is damaged.

        posbias collection verify squad squad-rotated

    Returns:
        What was found of each artefact.

    Raises:
        InputError: no artefact at one of the paths.

    Example:
        >>> import positionbias as pb
        >>> print(pb.verify(["test.run", "train.run"]))
        whole       run                1 files        0.0 MB  test.run
        whole       run                1 files        0.0 MB  train.run
    """
    from positionbias.report.verification import verify_all

    return verify_all([input_place(path) for path in paths])
