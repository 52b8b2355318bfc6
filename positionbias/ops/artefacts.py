"""Exports in published forms, checkpoints on the Hub, pages about results, and verification of
artefacts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.core.json_text import JsonObject
from positionbias.core.operation import Out, Overwrite, Source, WithTexts, operation
from positionbias.core.outcome import REMARKS, Judgement, Measurements, Read, Written
from positionbias.core.places import Place, input_place, output_place, pasted
from positionbias.core.progress import hint, track
from positionbias.core.settings import Setting
from positionbias.engine.choose import Engine

if TYPE_CHECKING:
    import pandas

    from positionbias.core.manifest import Manifest, Verified
    from positionbias.models.hub import Pushed
    from positionbias.report.table import Table

__all__ = ["Page", "Upload", "Verification", "export", "load", "make_report", "push", "verify"]

Form = Literal["msmarco", "beir", "squad", "trec"]
# form -> module and name of its writer; SQuAD's, which has versions and no shards, is called by
# name
_WRITERS = {
    "msmarco": ("msmarco_export", "write_msmarco"),
    "beir": ("beir_export", "write_beir"),
    "trec": ("trec_export", "write_trec"),
}
_COUNTED = {  # what a form cannot hold, in words
    "left_out": "questions left out",
    "fields_left_out": "fields of queries left out",
    "unjudged": "queries without a judgement",
    "without_judgement": "queries without a judgement",
}


@operation
def export(
    collection: Source,
    *,
    to: Annotated[Form, Setting("The published form to write.")],
    splits: Annotated[
        Sequence[str],
        Setting(
            "A split to write; all by default; repeatable.",
            flags=("--split",),
            metavar="SPLIT",
        ),
    ] = (),
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
    from positionbias.core.collection import find_collection
    from positionbias.core.rows import counted_rows

    if squad_version and to != "squad":
        raise SettingError(
            f"--squad-version: wanted --to squad beside it; found --to {to}; leave it out"
        )
    opened, place = find_collection(collection), output_place(out)
    chosen = list(dict.fromkeys(splits)) or opened.splits
    if to == "squad":
        from positionbias.formats.squad import write_squad_release

        if not chosen:
            do = "import it with its questions"
            raise bad_input(
                opened.path, wanted="a split to write in SQuAD's form", found="no splits", do=do
            )
        written = write_squad_release(
            opened, place, chosen, version=squad_version or "1.1", overwrite=overwrite
        )
    else:
        module, writer = _WRITERS[to]
        write = getattr(import_module(f"positionbias.formats.{module}"), writer)
        with engine.open() as map_shards:
            written = write(opened, place, chosen, overwrite=overwrite, map_shards=map_shards)
    hint(f"written to {pasted(place)}")
    numbers = {
        _COUNTED.get(name, name.replace("_", " ")): number
        for name, number in written._asdict().items()
    }
    rows = counted_rows(
        "export", numbers, collection=opened.name, split="+".join(chosen), variant=to
    )
    return Written(place, rows=rows)


@dataclass(frozen=True, slots=True, repr=False)
class Upload(Judgement):
    """A checkpoint on the Hub."""

    pushed: Pushed

    def __str__(self) -> str:
        return f"{self.pushed.files:,} files, {self.pushed.bytes / 1e6:,.1f} MB: {self.pushed.url}"

    def to_json(self) -> JsonObject:
        """Return its address, and how much it holds."""
        return asdict(self.pushed)


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
) -> Upload:
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
    from positionbias.core.manifest import read_manifest
    from positionbias.models.hub import push_checkpoint

    place = input_place(checkpoint)
    manifest = read_manifest(place, kind="checkpoint")
    measured = [_measured(input_place(folder), manifest) for folder in results]
    return Upload(push_checkpoint(place, repo, private=private, more="\n\n".join(measured)))


def _measured(folder: Path, model: Manifest) -> str:
    """Return a section of a model card with results of this model, as their command printed them.

    Raises:
        InputError: they are of other models.
    """
    from textwrap import indent

    from positionbias.core.manifest import read_manifest
    from positionbias.core.terminal import lines_of

    manifest, found = read_manifest(folder), replace(load(folder), remarks=())
    models = [item.checksum for item in manifest.inputs if item.role == "model"]
    systems = set() if found.rows is None else set(found.rows["model"])
    same = not models or model.checksum in models
    if model.name not in systems or not same:
        named = (
            f"those of {', '.join(sorted(filter(None, systems)))}"
            f"{'' if same else ' of other weights'}"
        )
        raise bad_input(
            folder,
            wanted=f"results of the model {model.name}",
            found=named,
            do="measure this checkpoint",
        )
    with lines_of(None):  # the same card from every terminal, and no column left out
        text = str(found)
    return f"## {manifest.command.capitalize()}: {manifest.name}\n\n{indent(text, '    ')}"


@dataclass(frozen=True, slots=True, repr=False)
class Page(Written):
    """A report, the results in it, and all its tables by name; as text, those that it does not
    fold.
    """

    tables: dict[str, Table] = field(default_factory=dict)

    def __str__(self) -> str:
        from positionbias.report.table import as_text

        return "\n\n".join(map(as_text, self._tables()))


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
    from positionbias.report.table import save_tables

    place = output_place(out)
    page = page_of(input_place(folder), place, title=title, texts=texts, overwrite=overwrite)
    hint(f"written to {pasted(page.path)}")
    if tables is not None:
        save_tables(page.tables, output_place(tables), overwrite=overwrite)
        hint(f"{len(page.tables)} tables written to {pasted(tables)}")
    return page


def page_of(
    folder: Path, out: Path, *, title: str | None = None, texts: bool = True, overwrite: bool
) -> Page:
    """Write the page about a folder of results."""
    from positionbias.report.html import report_tables, write_page
    from positionbias.report.page import load_study

    study = load_study(folder)
    path = write_page(study, out, title=title, texts=texts, overwrite=overwrite)
    return Page(path, report_tables(study), rows=None if study.rows.empty else study.rows)


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
    from positionbias.report.page import load_study

    place = input_place(folder, flag="folder")
    study = load_study(place)
    made = study.manifest
    of_rows = {} if study.rows.empty else {"rows": study.rows, "values": study.values}
    return (Audit if made.command == "audit" else Measurements)(
        command=made.command,
        settings=made.settings,
        read=[Read(item.role, place / item.path, item.checksum) for item in made.inputs],
        seed=made.seed,
        name=study.title,
        licence=made.licence,
        notes=made.notes,
        content=made.content,
        remarks=made.content_as(tuple[str, ...], REMARKS, ()),
        **of_rows,
        loaded=replace(made, files=None),
    )


@dataclass(frozen=True, slots=True, repr=False)
class Verification(Judgement):
    """The findings on each artefact; nothing is measured."""

    artefacts: Sequence[Verified]

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for each artefact."""
        import pandas

        return pandas.DataFrame(self.to_json()["artefacts"])

    def __str__(self) -> str:
        lines = []
        for one in self.artefacts:
            more = f" ({one.strange:,} files more than its manifest names)" if one.strange else ""
            size = f"{one.files:>5,} files {one.bytes / 1e6:>10,.1f} MB"
            state = "damaged" if one.fault else "whole"
            lines.append(f"{state:<11} {one.kind:<14} {size}  {one.path}{more}")
            lines += [f"    {one.fault}"] if one.fault else []
        return "\n".join(lines)

    def to_json(self) -> JsonObject:
        """Return what was found of each artefact."""
        return {"artefacts": [{**asdict(one), "path": str(one.path)} for one in self.artefacts]}

    def check(self) -> None:
        """Refuse artefacts that are damaged.

        Raises:
            InputError: at least one is.
        """
        if damaged := sum(bool(found.fault) for found in self.artefacts):
            raise InputError(
                f"wanted {len(self.artefacts):,} artefacts as they were written; found {damaged:,} "
                "damaged; restore them from a copy, or make them again"
            )


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
    from positionbias.core.manifest import manifests_in
    from positionbias.core.manifest import verify as compare

    manifests = [manifest for path in paths for manifest in manifests_in(input_place(path))]
    return Verification(
        [compare(manifest) for manifest in track(manifests, "verifying", unit="artefacts")]
    )
