"""``posbias collection verify`` as it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest, write_manifest
from positionbias.core.terminal import lines_of


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop, lines_of(None):
        main(["-q", "collection", "verify", *arguments])
    out, err = capsys.readouterr()
    return stop.value.code, out, err  # type: ignore[return-value]


def test_all_artefacts_in_a_folder_are_compared(
    small_collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, str(small_collection.path.parent))
    assert (code, err) == (0, "")
    kinds = [line.split()[:2] for line in out.splitlines()]
    assert kinds == [["whole", "collection"]]


def test_damage_is_named_and_the_exit_code_is_2(
    small_collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    (small_collection.path / "queries" / "test.parquet").write_bytes(b"")
    code, out, err = run(capsys, str(small_collection.path))
    assert code == 2
    assert out.splitlines()[-2].startswith("damaged     collection")
    assert "test.parquet: wanted" in out.splitlines()[-1]
    assert err.startswith(
        "posbias: wanted 1 artefacts as they were written; found 1 damaged; restore"
    )


@pytest.mark.parametrize("target", ["manifest.json", "nowhere"])
def test_a_manifest_that_leads_nowhere_is_damage(
    small_collection: Collection, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    manifest = small_collection.path / "manifest.json"
    manifest.unlink()
    manifest.symlink_to(target)
    code, out, _ = run(capsys, str(small_collection.path))
    assert code == 2
    assert f"damaged                        0 files        0.0 MB  {small_collection.path}\n" in out


@pytest.mark.parametrize("stray", ["passages", "queries", "."])
@pytest.mark.parametrize(
    "content", ["", "{}", "signed", '{"kind": "run", "format_version": 1, "files": null}']
)
def test_no_stray_manifest_switches_digests_off(
    small_collection: Collection, capsys: pytest.CaptureFixture[str], stray: str, content: str
) -> None:
    place = small_collection.path
    for name in ("passages/00000.arrow", "queries/test.parquet"):
        (place / name).write_bytes((place / name).read_bytes().replace(b"a", b"b", 1))
    if content == "signed" and stray != ".":
        write_manifest(place / stray / "manifest.json", Manifest("run", "other", "retrieve"))
    elif content != "signed":
        (place / stray / "manifest.json").write_text(content)
    code, out, err = run(capsys, str(place))
    assert code == 2
    assert "damaged " in out or "a manifest.json of something else" in err
    with pytest.raises(InputError):
        list(Collection(place).passages())
    with pytest.raises(InputError):
        Collection(place).queries("test")


def test_what_is_no_artefact_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, str(tmp_path))[::2] == (
        2,
        (
            f"posbias: {tmp_path}: wanted an artefact of posbias; found no manifest.json; check "
            "the path\n"
        ),
    )
    assert "found nothing there" in run(capsys, str(tmp_path / "no"))[2]
