"""What a new data format, command or study costs: each is added to a copy of the package, counted
in files, and run from the command line.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

import positionbias

PACKAGE = Path(positionbias.__file__).parent
# file -> its text; or, of a file that is there, what is put before the only place where something
# stands
Addition = Mapping[str, str | Mapping[str, str]]

FORMAT: Addition = {
    "formats/toy.py": '''
        """A toy format: lines of passage id, colon, text."""

        from __future__ import annotations

        from pathlib import Path

        from positionbias.core.collection import Collection
        from positionbias.core.collection_writer import create_collection
        from positionbias.core.errors import bad_input
        from positionbias.core.manifest import Manifest
        from positionbias.core.records import Passage

        __all__ = ["import_toy"]


        def import_toy(path: Path, out: Path, *, overwrite: bool = False) -> Collection:
            """Write a collection of the lines of a file."""
            with create_collection(out, overwrite=overwrite) as writer:
                for line in path.read_text(encoding="utf-8").splitlines():
                    name, colon, text = line.partition(": ")
                    if not colon:
                        raise bad_input(path, wanted="id: text", found=line, do="give each passage \
an id")
                    writer.add_passages([Passage(name, text)])
                writer.finish(Manifest("collection", out.name, "import toy"))
            return Collection(out)
        ''',
    "ops/imports.py": {
        '    "import_planted",': '    "import_toy",\n',
        "\n\ndef _told(": '''

            @operation
            def import_toy(
                file: Annotated[Place, Setting("Lines of id, colon, text.", place="read")], *, \
out: Out, overwrite: Overwrite = False
            ) -> Collection:
                """Bring in toys, a passage a line."""
                from pathlib import Path

                from positionbias.formats.toy import import_toy as read

                return _told(read(Path(file), output_place(out), overwrite=overwrite))
            ''',
    },
}
COMMAND: Addition = {
    "ops/toys.py": '''
        """Letters of a collection's passages."""

        from __future__ import annotations

        from collections import Counter
        from collections.abc import Sequence
        from dataclasses import dataclass
        from typing import TYPE_CHECKING, Annotated

        from positionbias.core.operation import Source, operation
        from positionbias.core.settings import Setting

        if TYPE_CHECKING:
            from positionbias.results.result import Result

        __all__ = ["Letters", "count_letters"]


        @dataclass(frozen=True)
        class Letters:
            """How often each letter stands."""

            counts: dict[str, int]
            results: Sequence[Result] = ()

            def __str__(self) -> str:
                return "\\n".join(f"{letter}  {count}" for letter, count in self.counts.items())


        @operation
        def count_letters(
            collection: Source, *, most: Annotated[int, Setting("Letters to show.", least=1)] = 3
        ) -> Letters:
            """Count the letters of ``collection``."""
            from positionbias.core.collection import find_collection

            texts = "".join(passage.text for passage in find_collection(collection).passages())
            return Letters(dict(Counter(filter(str.isalpha, texts.lower())).most_common(most)))
        ''',
    "ops/__init__.py": {
        ("    from positionbias.ops.training"): (
            "    from positionbias.ops.toys import count_letters as count_letters\n"
        ),
        '        "verify":': (
            '        "letters": ("toys", "count_letters", "How often each letter stands."),\n'
        ),
    },
}
STUDY: Addition = {
    "papers/__init__.py": {'    "pooling":': '    "toy": "How long are the passages?",\n'},
    "papers/toy/__init__.py": '''
        """The study of toys."""

        from __future__ import annotations

        from positionbias.results.figures import Figures

        __all__ = ["LENGTH", "ToyFigures"]

        LENGTH = "length of toys"


        class ToyFigures(Figures, frozen=True, kw_only=True):
            """The longest passage."""

            MEASURES = (LENGTH,)

            characters: int
            passage_id: str
        ''',
    "papers/toy/settings.py": '''
        """Settings of the study of toys."""

        from __future__ import annotations

        from dataclasses import dataclass

        from positionbias.core.settings import setting
        from positionbias.papers import StudyCommand

        __all__ = ["COMMAND", "ToySettings"]


        @dataclass(frozen=True, slots=True, kw_only=True)
        class ToySettings:
            """Settings of the study."""

            most: int = setting(1_000, "Characters that count.", least=1)


        COMMAND = StudyCommand(settings=ToySettings, help="How long are the passages?")
        ''',
    "papers/toy/measured.py": '''
        """What the study of toys measures."""

        from __future__ import annotations

        from positionbias.core.collection import Collection
        from positionbias.papers.toy import LENGTH, ToyFigures
        from positionbias.results.result import Result

        __all__ = ["longest"]


        def longest(collection: Collection, most: int) -> Result:
            """Return the longest passage as a result."""
            name, text = max(collection.passages(), key=lambda passage: len(passage.text[:most]))
            figures = ToyFigures(characters=len(text[:most]), passage_id=name)
            return Result(LENGTH, collection.name, "", "all", None, float(figures.characters), \
None, len(collection), figures)
        ''',
    "papers/toy/study.py": '''
        """The steps of the study of toys."""

        from __future__ import annotations

        from pathlib import Path

        from positionbias.core.collection import Collection
        from positionbias.core.manifest import Manifest
        from positionbias.experiments.step import Steps
        from positionbias.papers.toy.measured import longest
        from positionbias.papers.toy.settings import ToySettings
        from positionbias.results.result import save_results

        __all__ = ["run_study"]


        def run_study(collection: Collection, settings: ToySettings, steps: Steps) -> Path:
            """Run the study in the folder of ``steps``; return the folder of its results."""
            place = steps.folder / "results"

            def make() -> None:
                save_results(place, [longest(collection, settings.most)], Manifest("results", \
"Toys", "study toy"), overwrite=True)

            return steps.make("measure", place, {"most": settings.most}, {"collection": \
collection.checksum}, make)
        ''',
    "papers/toy/page.py": '''
        """The page of toys."""

        from __future__ import annotations

        from positionbias.papers.toy import LENGTH, ToyFigures
        from positionbias.report.blocks import Block, block_of
        from positionbias.report.load import Study
        from positionbias.report.parts import PageSection, Part, each
        from positionbias.report.table import Cell, Column, Table
        from positionbias.results.select import of_type

        __all__ = ["PART"]


        def _lengths(study: Study) -> Block:
            rows = [
                [Cell(result.collection), Cell(str(figures.characters), figures.characters)]
                for result, figures in of_type(study.results, ToyFigures)
            ]
            columns = [Column("Collection", numeric=False), Column("Characters")]
            return block_of(study, tables=[Table("toys", "The longest toy", columns, rows)])


        PART = Part(
            sections=[PageSection("toys", "How long toys are", "The longest passage.", \
each(_lengths))],
            measures=[LENGTH],
            after_study=["toys"],
        )
        ''',
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, and a file in the toy format beside it."""
    shutil.copytree(PACKAGE, tmp_path / "positionbias")
    (tmp_path / "toys.txt").write_text("t1: a top\nt2: a wooden train\n", encoding="utf-8")
    return tmp_path / "positionbias"


def add(package: Path, addition: Addition) -> None:
    for name, change in addition.items():
        path = package / name
        if isinstance(change, str):
            assert not path.exists()
            path.parent.mkdir(exist_ok=True)
            path.write_text(dedent(change).lstrip(), encoding="utf-8")
        else:
            text = path.read_text(encoding="utf-8")
            for before, put in change.items():
                assert text.count(before) == 1, (name, before)
                text = text.replace(before, (dedent(put) if put.startswith("\n") else put) + before)
            path.write_text(text, encoding="utf-8")


def run(package: Path, *command: str) -> str:
    """Run Python in the folder beside the package; return what it printed."""
    variables = {**os.environ, "PYTHONPATH": str(package.parent), "POSBIAS_HOME": "."}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=package.parent,
        env=variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def posbias(package: Path, *words: str) -> str:
    return run(package, "-m", "positionbias", *words)


def test_a_data_format_is_two_files(package: Path) -> None:
    add(package, FORMAT)
    assert len(FORMAT) == 2
    assert "Bring in toys, a passage a line." in posbias(package, "import", "--help")
    posbias(package, "import", "toy", "toys.txt", "--out", "toys")
    shown = run(
        package,
        "-c",
        "import positionbias as pb; print(pb.import_toy('toys.txt', out='again'), 'import_toy' in "
        "dir(pb))",
    )
    assert shown == "Collection('again', 2 passages, splits none) True\n"
    assert posbias(package, "show", "toys").startswith(
        "toys: 2 passages, 0 queries (no split) and 0 answers.\n"
    )


def test_a_command_is_two_files(package: Path) -> None:
    add(package, {**FORMAT, **COMMAND})
    assert len(COMMAND) == 2
    posbias(package, "import", "toy", "toys.txt", "--out", "toys")
    assert "How often each letter stands." in posbias(package, "--help")
    assert posbias(package, "letters", "toys", "--most", "2") == "a  3\no  3\n"
    assert (
        run(package, "-c", "import positionbias as pb; print(pb.count_letters('toys', most=1))")
        == "a  3\n"
    )


def test_a_study_is_six_files_in_two_folders(package: Path) -> None:
    add(package, {**FORMAT, **STUDY})
    assert len(STUDY) == 6
    assert {Path(name).parts[:-1] for name in STUDY} == {("papers",), ("papers", "toy")}
    posbias(package, "import", "toy", "toys.txt", "--out", "toys")
    assert "How long are the passages?" in posbias(package, "study", "--help")
    assert "--most" in posbias(package, "study", "toy", "--help")
    found = posbias(package, "study", "toy", "toys", "--out", "study", "--most", "10")
    assert found.splitlines()[:5] == [
        "The longest toy",
        "",
        "Collection  Characters",
        "──────────  ──────────",
        "toys                10",
    ]
    assert "How long toys are" in (package.parent / "study" / "report.html").read_text(
        encoding="utf-8"
    )
    (result,) = json.loads(
        (package.parent / "study" / "results" / "results.json").read_text(encoding="utf-8")
    )["results"]
    assert result["payload"]["rows"] == {"characters": 10, "passage_id": "t2"}
