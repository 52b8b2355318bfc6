"""What a new data format, command or study costs: each is added to a copy of the package, counted
in files, and run from the command line.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

import positionbias
from positionbias.core.rows import load

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
            path, out = Path(path), Path(out)
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
        "\n\n@operation\ndef import_planted(": '''

            @operation
            def import_toy(
                file: Annotated[Place, Setting("Lines of id, colon, text.", place="read")], *, \
out: Out, overwrite: Overwrite = False
            ) -> Collection:
                """Bring in toys, a passage a line."""
                from positionbias.formats.toy import import_toy as read

                return read(file, out, overwrite=overwrite)
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

        from positionbias.ops.operation import operation
        from positionbias.core.settings import Setting
        from positionbias.core.shared_settings import Source

        if TYPE_CHECKING:
            from positionbias.evaluation.records import Result

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
        '    "report":': (
            '    "letters": ("toys", "count_letters", "How often each letter stands."),\n'
        ),
    },
}
DOCUMENTED = re.findall(
    r"```python\n# positionbias/(papers/toy/\w+\.py)\n(.*?)```",
    (PACKAGE.parent / "docs" / "studies.md").read_text(encoding="utf-8"),
    re.DOTALL,
)
STUDY: Addition = {
    "papers/__init__.py": {'    "pooling":': '    "toy": "How long are the passages?",\n'},
    "papers/toy/__init__.py": "",
    **dict(DOCUMENTED),
}
COLUMN: Addition = {
    "core/rows.py": {'    "test": Column(': '    "colour": Column("str", "colour of the toy"),\n'}
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
    assert posbias(package, "collection", "show", "toys").startswith(
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


def test_a_study_is_a_folder_with_its_figure_declared(package: Path) -> None:
    add(package, {**FORMAT, **STUDY})
    assert [Path(name).name for name, _ in DOCUMENTED] == ["settings.py", "study.py", "shown.py"]
    posbias(package, "import", "toy", "toys.txt", "--out", "toys")
    assert "How long are the passages?" in posbias(package, "study", "--help")
    told = posbias(package, "study", "toy", "toys", "--out", "study", "--most", "10")
    assert told.splitlines()[:5] == [
        "The longest toy",
        "",
        "Collection  Characters",
        "──────────  ──────────",
        "toys                10",
    ]
    page = (package.parent / "study" / "report.html").read_text(encoding="utf-8")
    assert "How long toys are" in page
    assert "Passages by length: 3 rows." in page
    rows = load(package.parent / "study" / "results")
    assert rows[["statistic", "label", "value"]].values.tolist() == [
        ["longest", "", 10.0],
        ["passages", "5", 1.0],
        ["passages", "10", 1.0],
    ]


def test_a_column_is_a_line(package: Path) -> None:
    add(package, COLUMN)
    code = (
        "from positionbias.core import rows\n"
        "from positionbias.core.manifest import Manifest\n"
        "made = rows.Collected()\n"
        "made.add('length', 'mean', 1.0, colour='red')\n"
        "rows.save('coloured', made.rows, Manifest('results', 'toys', 'a test'))\n"
        "print(rows.load('coloured')['colour'].tolist())"
    )
    assert run(package, "-c", code) == "['red']\n"
