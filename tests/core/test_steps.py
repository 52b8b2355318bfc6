"""Steps: whatever ends a run, the next one of the same job keeps the shards that are whole and
makes the rest; the same command with the same inputs is done before.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import positionbias as pb
from positionbias.core import publish
from positionbias.core.errors import InputError, OutputExistsError, SettingError, StorageError
from positionbias.core.manifest import read_manifest
from positionbias.core.publish import GO_ON, resumable_folder, work_folder
from positionbias.core.steps import DoneBefore, job_of, make_shards
from positionbias.settings import Retrieval

ITEMS = ("one", "two", "three", "four")
WANTED = {f"{index}": f"{item}\n" for index, item in enumerate(ITEMS)}
LENGTHS = [{"length": len(item)} for item in ITEMS]
JOB = {"command": "a test", "settings": {"a": 1}}
MANIFEST = json.dumps(
    {"kind": "results", "command": "a test", "format_version": 1, "files": {"0": {}}}
)


class Maker:
    """Writes each item into its shard, remembers what it made, and fails where it is told to."""

    def __init__(self, *, fail_at: str = "", error: BaseException | None = None) -> None:
        self.made: list[str] = []
        self.fail_at, self.error = fail_at, error

    def __call__(self, item: str, path: Path) -> Mapping[str, Any]:
        path.write_text(item[:1])  # half a shard
        if item == self.fail_at and self.error:
            raise self.error
        path.write_text(f"{item}\n")
        self.made.append(item)
        return {"length": len(item)}


def run(
    final: Path,
    maker: Callable[[str, Path], Mapping[str, Any]],
    *,
    job: Mapping[str, Any] = JOB,
    items: Any = ITEMS,
    **more: Any,
) -> list[Any]:
    with resumable_folder(final, job, **more) as folder:
        return list(make_shards(dict, maker, items, lambda index: folder / f"{index}"))


def content(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*"))
    }


def interrupted(final: Path, at: str = "three") -> None:
    with pytest.raises(KeyboardInterrupt):
        run(final, Maker(fail_at=at, error=KeyboardInterrupt()))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_run_without_trouble_leaves_the_shards_alone(tmp_path: Path) -> None:
    assert run(tmp_path / "deep" / "out", Maker()) == LENGTHS
    assert content(tmp_path / "deep" / "out") == WANTED
    assert names(tmp_path / "deep") == ["out"]


@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt(), OSError(28, "No space left on device"), RuntimeError("a fault")],
    ids=repr,
)
def test_a_rerun_makes_only_what_is_missing(tmp_path: Path, error: BaseException) -> None:
    final, first, second = tmp_path / "out", Maker(fail_at="three", error=error), Maker()
    with pytest.raises((type(error), StorageError)):
        run(final, first)
    assert names(tmp_path) == [".out.work"]
    assert run(final, second) == LENGTHS  # shards that were kept say what they said
    assert first.made + second.made == list(ITEMS)
    assert content(final) == WANTED
    assert names(tmp_path) == ["out"]


def test_ctrl_c_carries_a_note_and_a_full_disk_says_how_to_go_on(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt) as stopped:
        run(tmp_path / "out", Maker(fail_at="two", error=KeyboardInterrupt()))
    assert stopped.value.__notes__ == [GO_ON]
    with pytest.raises(StorageError) as full:
        run(tmp_path / "out", Maker(fail_at="two", error=OSError(28, "No space left on device")))
    assert str(full.value) == (
        f"{tmp_path / 'out' / '1'}: wanted to write here; found: No space left on device; free "
        f"some space or give another --out; what is finished is kept: {GO_ON}"
    )


@pytest.mark.parametrize("damage", [b"", b"onE\n"])
def test_a_damaged_shard_is_made_again(tmp_path: Path, damage: bytes) -> None:
    final, again = tmp_path / "out", Maker()
    interrupted(final)
    (work_folder(final) / "content" / "0").write_bytes(damage)
    run(final, again)
    assert again.made == ["one", "three", "four"]
    assert content(final) == WANTED


@pytest.mark.parametrize("damage", [b"{", b"[]", b"\xff", {"facts": {"length": 4}}, None])
def test_a_shard_with_a_damaged_receipt_is_made_again(
    tmp_path: Path, damage: bytes | dict[str, Any] | None
) -> None:
    final, again = tmp_path / "out", Maker()
    interrupted(final)
    receipt = work_folder(final) / "receipts" / "0.json"
    if isinstance(damage, dict):
        damage = json.dumps(json.loads(receipt.read_text()) | damage).encode()
    receipt.unlink() if damage is None else receipt.write_bytes(damage)
    assert run(final, again) == LENGTHS
    assert again.made == ["one", "three", "four"]
    assert content(final) == WANTED


def test_another_job_or_another_version_starts_afresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    final, again = tmp_path / "out", Maker()
    interrupted(final)
    run(final, again, job={"command": "a test", "settings": {"a": 2}})
    assert again.made == list(ITEMS)
    newer = Maker()
    interrupted(tmp_path / "next")
    monkeypatch.setattr(publish, "__version__", "99")
    run(tmp_path / "next", newer)
    assert newer.made == list(ITEMS)


def test_a_shard_is_kept_for_its_own_item_only(tmp_path: Path) -> None:
    """A job that forgets to say what decides its content (a stream, say) must not join two
    inputs.
    """
    final, again = tmp_path / "out", Maker()
    interrupted(final)
    run(final, again, items=("one", "TWO", "three"))
    assert again.made == ["TWO", "three"]
    assert content(final) == {"0": "one\n", "1": "TWO\n", "2": "three\n"}


def test_an_input_file_that_changed_is_read_again(tmp_path: Path) -> None:
    copied: list[str] = []

    def copy(source: Path, path: Path) -> Mapping[str, Any]:
        copied.append(source.read_text())
        path.write_bytes(source.read_bytes())
        if copied[-1] == "stop":
            raise KeyboardInterrupt
        return {}

    def copy_all() -> None:
        with resumable_folder(tmp_path / "out", JOB) as folder:
            list(make_shards(dict, copy, sources, lambda index: folder / f"{index}"))

    sources = [tmp_path / name for name in ("a", "b", "c")]
    for source, text in zip(sources, ("first", "second", "stop"), strict=True):
        source.write_text(text)
    with pytest.raises(KeyboardInterrupt):
        copy_all()
    sources[0].write_text("FIRST")
    sources[2].write_text("third")
    copy_all()
    assert copied == ["first", "second", "stop", "FIRST", "third"]
    assert content(tmp_path / "out") == {"0": "FIRST", "1": "second", "2": "third"}


def test_two_runs_at_once(tmp_path: Path) -> None:
    final = tmp_path / "out"
    with resumable_folder(final, JOB) as folder, ThreadPoolExecutor(1) as pool:
        (folder / "0").write_text("mine")
        other = pool.submit(run, final, Maker(), job={"command": "another"})
        with pytest.raises(
            StorageError,
            match="wanted to be the only one writing here; found another run at work; wait for it",
        ):
            other.result()
        assert (folder / "0").read_text() == "mine"
    assert content(final) == {"0": "mine"}
    assert names(tmp_path) == ["out"]


def test_bad_input_leaves_nothing(tmp_path: Path) -> None:
    for error in (InputError("bad line"), SettingError("--seed: bad")):
        with pytest.raises(type(error), match=str(error)):
            run(tmp_path / "out", Maker(fail_at="three", error=error))
    assert names(tmp_path) == []


def test_a_place_that_is_taken_is_kept_or_replaced(tmp_path: Path) -> None:
    final = tmp_path / "out"
    run(final, Maker(), items=("old",))
    (final / "manifest.json").write_text(MANIFEST)
    with pytest.raises(OutputExistsError):
        run(final, Maker())
    assert content(final) == {"0": "old\n", "manifest.json": MANIFEST}
    interrupted_by = Maker(fail_at="two", error=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run(final, interrupted_by, overwrite=True)
    assert content(final) == {"0": "old\n", "manifest.json": MANIFEST}  # until the new one is whole
    run(final, Maker(), overwrite=True)
    assert content(final) == WANTED
    assert names(tmp_path) == ["out"]


def test_shards_outside_a_work_folder_get_no_receipts(tmp_path: Path) -> None:
    assert list(make_shards(dict, Maker(), ITEMS, lambda index: tmp_path / f"{index}")) == LENGTHS
    assert content(tmp_path) == WANTED
    again = Maker()
    list(make_shards(dict, again, ITEMS, lambda index: tmp_path / f"{index}"))
    assert again.made == list(ITEMS)  # nothing vouches for what stands there


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("link", "content/manifest"),
        ("link to a folder", "receipts/0.json"),
        ("pipe", "job.json"),
        ("link to a folder", "../.out.lock"),
        ("pipe", "../.out.lock"),
    ],
)
def test_what_is_no_file_in_a_work_folder_is_cleared_away(
    tmp_path: Path, kind: str, name: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "text").write_text("mine")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "out", Maker(fail_at="three", error=KeyboardInterrupt()))
    place = work_folder(tmp_path / "out") / name
    place.unlink(missing_ok=True)
    place.symlink_to(elsewhere / "text" if kind == "link" else elsewhere) if kind.startswith(
        "link"
    ) else os.mkfifo(place)
    with resumable_folder(tmp_path / "out", JOB) as folder:
        assert list(make_shards(dict, Maker(), ITEMS, lambda index: folder / f"{index}")) == LENGTHS
        (folder / "manifest").write_text("all")  # as what is written beside the shards is
    assert (elsewhere / "text").read_text() == "mine"
    assert not (tmp_path / "out" / "manifest").is_symlink()


def test_what_stands_there_was_made_by_the_same_call(
    small_collection: pb.Collection, tmp_path: Path
) -> None:
    made = pb.debias(small_collection, out=tmp_path / "rotated")
    with pytest.raises(
        DoneBefore, match="rotated: done before, by the same command from the same inputs"
    ) as done:
        pb.debias(small_collection, out=tmp_path / "rotated")
    assert done.value.exit_code == 0
    with pytest.raises(OutputExistsError, match="wanted a new path") as refused:
        pb.debias(small_collection, out=tmp_path / "rotated", rotation=pb.settings.Rotation(seed=2))
    assert refused.value.exit_code == 2
    # the manifest was signed with the job in it
    assert pb.verify([made.path]).artefacts[-1].fault == ""
    pb.debias(small_collection, out=tmp_path / "rotated", overwrite=True)


def test_damage_is_not_done_before(small_collection: pb.Collection, tmp_path: Path) -> None:
    def retrieve() -> object:
        return pb.retrieve(small_collection, wanted=Retrieval("test"), out=tmp_path / "a.run")

    retrieve()
    assert len(str(read_manifest(tmp_path / "a.run").provenance["job"])) == 64
    with pytest.raises(DoneBefore):
        retrieve()
    (tmp_path / "a.run").write_bytes((tmp_path / "a.run").read_bytes().replace(b"Q0", b"Q1"))
    with pytest.raises(OutputExistsError) as refused:
        retrieve()
    assert refused.value.exit_code == 2


@dataclass(frozen=True)
class Depth:
    depth: int


def test_a_job_is_known_by_its_arguments_and_the_state_of_its_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.tsv").write_text("a")
    Path("own.py").write_text("")

    def job(place: object = "in.tsv", depth: object = Depth(2)) -> str | None:
        return job_of("read", [("source", place, True), ("depth", depth, False)])

    first = job()
    assert first == job() is not None
    assert len({first, job(depth=Depth(3)), job("other.tsv"), job("own:score")}) == 4
    before = job("own:score")
    Path("own.py").write_text("changed")
    assert job("own:score") != before
    os.utime("in.tsv", ns=(1, 1))
    assert job() != first
    os.mkfifo("pipe")
    assert job("pipe") is job("-") is job(depth=object()) is job(["in.tsv", "pipe"]) is None
