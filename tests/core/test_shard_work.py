"""Shard by shard: whatever ends a run, the next one of the same job keeps what is whole and makes
the rest.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from positionbias.core import shard_work
from positionbias.core.errors import InputError, OutputExistsError, SettingError, StorageError
from positionbias.core.publish import recover
from positionbias.core.shard_work import GO_ON, make_shards, resumable_folder, work_folder

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


@pytest.mark.parametrize("at", ITEMS)
@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt(), OSError(28, "No space left on device"), RuntimeError("a fault")],
    ids=repr,
)
def test_a_rerun_makes_only_what_is_missing(tmp_path: Path, at: str, error: BaseException) -> None:
    final, first, second = tmp_path / "out", Maker(fail_at=at, error=error), Maker()
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


@pytest.mark.parametrize("damage", [b"", b"one", b"onE\n", b"one\n\0"])
def test_a_damaged_shard_is_made_again(tmp_path: Path, damage: bytes) -> None:
    final, again = tmp_path / "out", Maker()
    interrupted(final)
    (work_folder(final) / "content" / "0").write_bytes(damage)
    run(final, again)
    assert again.made == ["one", "three", "four"]
    assert content(final) == WANTED


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"{}", b'{"item": 1, "checksum": 2, "facts": 3}', b"\xff", None]
)
def test_a_shard_with_a_damaged_receipt_is_made_again(tmp_path: Path, damage: bytes | None) -> None:
    final, again = tmp_path / "out", Maker()
    interrupted(final)
    receipt = work_folder(final) / "receipts" / "0.json"
    receipt.unlink() if damage is None else receipt.write_bytes(damage)
    assert run(final, again) == LENGTHS
    assert again.made == ["one", "three", "four"]
    assert content(final) == WANTED


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", json.dumps({"command": "a test", "settings": {"a": 2}})],
    ids=["empty", "cut", "list", "other"],
)
def test_a_damaged_job_starts_afresh(tmp_path: Path, damage: str) -> None:
    final, again = tmp_path / "out", Maker()
    interrupted(final)
    (work_folder(final) / "job.json").write_text(damage)
    (work_folder(final) / "content" / "stray").write_text("of a former job")
    run(final, again)
    assert again.made == list(ITEMS)
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
    monkeypatch.setattr(shard_work, "__version__", "99")
    run(tmp_path / "next", newer)
    assert newer.made == list(ITEMS)


def test_the_same_job_written_in_another_order_is_the_same(tmp_path: Path) -> None:
    final, again = tmp_path / "out", Maker()
    interrupted(final)
    run(final, again, job={"settings": {"a": 1}, "command": "a test"})
    assert again.made == ["three", "four"]


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
    with resumable_folder(final, JOB) as folder:
        (folder / "0").write_text("mine")
        with pytest.raises(
            StorageError,
            match="wanted to be the only one writing here; found another run at work; wait for it",
        ):
            run(final, Maker(), job={"command": "another"})
        assert (folder / "0").read_text() == "mine"
    assert content(final) == {"0": "mine"}
    assert names(tmp_path) == ["out"]


def test_whoever_waited_for_the_lock_finds_what_the_first_one_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other run ends between our look at the final place and our lock."""
    final = tmp_path / "out"
    only_one = shard_work.only_one

    def late(root: Path, place: Path) -> Any:
        monkeypatch.setattr(shard_work, "only_one", only_one)
        run(final, Maker())
        return only_one(root, place)

    monkeypatch.setattr(shard_work, "only_one", late)
    with pytest.raises(OutputExistsError):
        run(final, Maker(), items=("other",))
    assert content(final) == WANTED
    assert names(tmp_path) == ["out"]


def test_a_file_system_without_locks_is_used_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    def refuse(handle: Any, how: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert run(tmp_path / "out", Maker()) == LENGTHS
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("error", [InputError("bad line"), SettingError("--seed: bad")], ids=repr)
def test_bad_input_leaves_nothing(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        run(tmp_path / "out", Maker(fail_at="three", error=error))
    assert names(tmp_path) == []


def test_messages_name_the_final_place(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=f"^{tmp_path}/out/x: bad$"),
        resumable_folder(tmp_path / "out", JOB) as folder,
    ):
        raise InputError(f"{folder}/x: bad")


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


@pytest.mark.parametrize("hidden", [".out.work", ".out.work.lock"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_a_link_for_hidden_work_leads_to_is_left_alone(
    tmp_path: Path, hidden: str, kind: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    if hidden == ".out.work":
        elsewhere.mkdir()
        (elsewhere / "inner").symlink_to("mine")
    else:
        elsewhere.write_text("mine")
    place = tmp_path / hidden
    place.symlink_to(elsewhere) if kind == "link" else os.mkfifo(place)
    assert run(tmp_path / "out", Maker()) == LENGTHS
    assert content(tmp_path / "out") == WANTED
    assert names(tmp_path) == ["elsewhere", "out"]
    assert (
        (elsewhere / "inner").is_symlink()
        if hidden == ".out.work"
        else elsewhere.read_text() == "mine"
    )


def test_shards_outside_a_work_folder_get_no_receipts(tmp_path: Path) -> None:
    assert list(make_shards(dict, Maker(), ITEMS, lambda index: tmp_path / f"{index}")) == LENGTHS
    assert content(tmp_path) == WANTED
    again = Maker()
    list(make_shards(dict, again, ITEMS, lambda index: tmp_path / f"{index}"))
    assert again.made == list(ITEMS)  # nothing vouches for what stands there


def content_of_files(folder: Path) -> Iterator[tuple[str, str]]:
    return (
        (path.relative_to(folder).as_posix(), path.read_text())
        for path in folder.rglob("*")
        if path.is_file()
    )


# Runs that kill themselves, as kill -9 would, at their n-th call that changes the disk: every step
# between two calls is met. Each is a fork of this program, which reads what to run from standard
# input and answers how it ended.
KILLED = """
import os, signal, sys
from pathlib import Path
from positionbias.core.shard_work import make_shards, resumable_folder

def run(final, steps, mode, log):
    left = steps
    def counted(call):
        def step(*arguments, **more):
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return call(*arguments, **more)
        return step
    for name in ("rename", "replace", "unlink", "rmdir", "mkdir", "fsync"):
        setattr(os, name, counted(getattr(os, name)))

    def make(item, path):
        path.write_text(item + "\\n")
        with open(log, "a") as made:
            made.write(item + "\\n")
        return {"length": len(item)}

    with resumable_folder(final, {"command": "a test"}, overwrite=mode != "new") as folder:
        (folder / "passages").mkdir(exist_ok=True)
        facts = list(make_shards(dict, make, ("one", "two", "three", "four"), lambda index: folder \
/ "passages" / f"{index}"))
        assert facts == [{"length": 3}, {"length": 3}, {"length": 5}, {"length": 4}]

for line in sys.stdin:
    final, steps, mode = line.split()
    child = os.fork()
    if not child:
        try:
            run(Path(final), int(steps), mode, Path(final).parent.with_name("made"))
            os._exit(0)
        finally:
            os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
ALL = {f"passages/{name}": text for name, text in WANTED.items()}


@pytest.mark.parametrize("mode", ["overwrite", "new"])
def test_kill_9_between_any_two_steps(tmp_path: Path, mode: str) -> None:
    """A run ended at its n-th step for n = 0, 1, 2 …, each time followed by a whole one."""
    with subprocess.Popen(
        [sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as runner:
        assert runner.stdin is not None
        assert runner.stdout is not None

        def ended(final: Path, steps: int) -> int:
            print(final, steps, mode, file=runner.stdin, flush=True)
            return int(runner.stdout.readline())  # type: ignore[union-attr]

        steps, code = 0, -signal.SIGKILL
        while code == -signal.SIGKILL:
            final = tmp_path / f"{steps}" / "in" / "out"
            final.parent.mkdir(parents=True)
            if mode != "new":
                final.mkdir()
                (final / "manifest.json").write_text(MANIFEST)
            code = ended(final, steps)
            assert code in (0, -signal.SIGKILL)
            check_rerun(final, mode, lambda final=final: ended(final, -1))
            steps += 1
    assert steps > 20


def check_rerun(final: Path, mode: str, rerun: Callable[[], int]) -> None:
    """After a killed run: what stands at ``final`` is whole, and a rerun makes again at most the
    shard that was under way.
    """
    published = (final / "passages").is_dir()
    recover(final)  # as the next open does
    if mode != "new" or final.exists():
        assert dict(content_of_files(final)) == (ALL if published else {"manifest.json": MANIFEST})
    if published:
        # what the killed run left is hidden, and goes with the next run that may write here
        assert [name for name in names(final.parent) if not name.startswith(".out.")] == ["out"]
        return
    receipts = len(list((work_folder(final) / "receipts").glob("p*.json")))
    before = made(final)
    assert rerun() == 0
    assert len(made(final)) - len(before) == 4 - receipts
    assert len(made(final)) - 4 <= 1
    assert dict(content_of_files(final)) == ALL
    assert names(final.parent) == ["out"]


def made(final: Path) -> list[str]:
    log = final.parent.with_name("made")
    return log.read_text().split() if log.exists() else []


@pytest.mark.parametrize("change", [{"length": 4}, {"width": 3}, {"length": "3"}, [], None])
def test_a_receipt_that_says_something_else_is_not_trusted(tmp_path: Path, change: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "out", Maker(fail_at="three", error=KeyboardInterrupt()))
    receipt = work_folder(tmp_path / "out") / "receipts" / "0.json"
    receipt.write_text(json.dumps({**json.loads(receipt.read_text()), "facts": change}))
    maker = Maker()
    assert run(tmp_path / "out", maker) == LENGTHS
    assert maker.made == ["one", "three", "four"]


@pytest.mark.parametrize("name", ["content/manifest", "job.json", "receipts/0.json"])
@pytest.mark.parametrize("kind", ["link", "link to a folder", "pipe"])
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
