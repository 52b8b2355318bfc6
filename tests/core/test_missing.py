"""What is said of a collection that is not there: a command that exists, with options that
exist.
"""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from positionbias.cli.main import posbias
from positionbias.core.collection import find_collection
from positionbias.core.errors import InputError
from positionbias.core.places import KNOWN, how_to_get


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_the_command_of_a_known_name_can_be_parsed(name: str) -> None:
    lead, _, words = how_to_get(name).partition("posbias ")
    assert lead == "make it with: "
    command: click.Command | None = posbias
    context = click.Context(posbias)
    rest = words.split()
    while isinstance(command, click.Group):
        command = command.get_command(context, rest.pop(0))
    assert command is not None, words
    parsed = command.make_context(name, rest)
    assert parsed.params["out"] == name


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("msmarco", "posbias import msmarco collectionandqueries.tar.gz --out msmarco"),
        ("msmarco-rotated-3", "posbias debias msmarco --seed 3"),
        ("data/x-rotated-17", "posbias debias data/x --seed 17 --out data/x-rotated-17"),
        ("x-rotated", "posbias debias x --out x-rotated"),
        ("my/golden.jsonl.gz", "posbias import table my/golden.jsonl.gz --out golden"),
        ("nowhere", "posbias import planted --out nowhere  (or another of: posbias import --help)"),
    ],
)
def test_the_error_ends_with_the_command(place: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        find_collection(place)
    assert str(raised.value).startswith(f"{place}: wanted a collection (a folder, or a name under ")
    assert str(raised.value).endswith(said)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "my data.tsv",
            (
                "my data.tsv: a file, not a collection; import the table with: posbias import "
                "table 'my data.tsv' --out 'my data'"
            ),
        ),
        (
            "mine.csv",
            (
                "mine.csv: a file, not a collection; import the table with: posbias import table "
                "mine.csv --out mine"
            ),
        ),
        (
            "Rows.PARQUET",
            (
                "Rows.PARQUET: a file, not a collection; import the table with: posbias import "
                "table Rows.PARQUET --out Rows"
            ),
        ),
        (
            "squad",
            (
                "squad: a file, not a collection; import it with the command for its form: posbias "
                "import --help"
            ),
        ),
    ],
)
def test_a_file_is_imported_and_never_planted_over(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("passage,question,answer\nThe cat sat.,Who sat?,cat\n")
    with pytest.raises(InputError) as raised:
        find_collection(name)
    assert str(raised.value) == said
