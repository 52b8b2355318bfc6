"""The Ray engine, for real: a cluster of two nodes on this machine, one of which is killed at the
end, and a Ray of its own.
"""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.blocks import Block
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, PositionBiasError, SettingError
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.steps import MapShards
from positionbias.engine.choose import open_engine
from positionbias.engine.per_process import PerProcess
from positionbias.positions.debias import debias
from positionbias.positions.raw_files import debias_file
from positionbias.positions.rotate import Rotation

from .session import assert_within, processes_of_session

pytestmark = [
    # Ray leaves the processes that it started, and their pipes, to the end of ours
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning:ray.*", "ignore:subprocess .* is still running:ResourceWarning"
    ),
]
SHARDS, SHARD = 40, 400


@pytest.fixture
def on_cluster(cluster: Any) -> Iterator[MapShards]:
    with open_engine("ray", 1, cluster.address) as map_shards:
        yield map_shards


def text_of(number: int) -> str:
    return " ".join(f"w{number * 7 % 501}x{word}, y{word}." for word in range(20 + number % 30))


def written(place: Path, shard: int) -> Collection:
    """40 shards of so many passages, and a question on every hundredth."""
    with create_collection(place) as writer:
        for start in range(0, SHARDS * shard, shard):
            writer.add_passages(
                Passage(f"p{number}", text_of(number)) for number in range(start, start + shard)
            )
        asked = range(0, SHARDS * shard, 100)
        writer.add_split(
            "test",
            [Query(f"q{number}", "what") for number in asked],
            [Qrel(f"q{number}", f"p{number}", 1) for number in asked],
            [Answer(f"q{number}", f"p{number}", text_of(number)[:4], 0, 4) for number in asked],
        )
        writer.finish(Manifest("collection", "original", "a test"))
    return Collection(place)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """16,000 passages: enough for a command to be stopped in the middle."""
    return written(tmp_path_factory.mktemp("ray") / "original", SHARD)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection.tsv in MS MARCO's layout: three blocks as the import cuts them."""
    folder = tmp_path_factory.mktemp("release")
    text = " ".join(f"word{number}" for number in range(600))
    with open(folder / "collection.tsv", "w") as file:
        file.writelines(f"{number}\t{number % 10} {text}\n" for number in range(7_500))
    (folder / "queries.dev.tsv").write_text("1\twhat\n")
    (folder / "qrels.dev.tsv").write_text("1\t0\t7\t1\n")
    return folder


Step = Callable[[MapShards, Path], Any]


def files_of(place: Path) -> dict[str, bytes]:
    """The bytes of a file, or of every file of a collection but its manifest, which names time and
    workers.
    """
    if place.is_file():
        return {"": place.read_bytes()}
    paths = (path for path in place.rglob("*") if path.is_file() and path.name != "manifest.json")
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in paths}


def made_by(step: Step, place: Path, map_shards: MapShards) -> tuple[dict[str, bytes], Any]:
    place.parent.mkdir()
    step(map_shards, place)
    # no work folder is left
    assert [path.name for path in place.parent.iterdir() if path.name.startswith(".")] == []
    return files_of(place), read_manifest(place).comparable()


def rotate_collection(original: Collection, map_shards: MapShards, out: Path) -> None:
    debias(original, out, Rotation(), map_shards=map_shards)


def rotate_file(source: Path, map_shards: MapShards, out: Path) -> None:
    debias_file(
        source,
        out,
        Rotation(words="whitespace"),
        "tsv",
        map_shards=map_shards,
        block_bytes=1 << 20,
    )


def test_results_come_in_order_and_items_as_they_are_used(on_cluster: MapShards) -> None:
    taken = []

    def items() -> Iterator[int]:
        for item in (3_000, 1, 2_000, 2, *range(100)):
            taken.append(item)
            yield item

    results = on_cluster(math.factorial, items())
    assert [next(results) for _ in range(4)] == [
        math.factorial(item) for item in (3_000, 1, 2_000, 2)
    ]
    assert len(taken) <= 4 + 2 * 2
    assert list(on_cluster(math.sqrt, [])) == []


def test_errors_of_ours_come_as_themselves(on_cluster: MapShards) -> None:
    bad = Block("file.tsv", 0, 0, 3, data=b"a\xff\n", lines_before=0)
    with pytest.raises(InputError) as caught:
        list(on_cluster(Block.text, [bad]))
    assert type(caught.value) is InputError
    assert (
        str(caught.value)
        == "file.tsv:1: wanted text in UTF-8; found the byte 0xff, which is not; convert the file"
    )
    results = on_cluster(math.sqrt, [4.0, -1.0])
    assert next(results) == 2.0
    with pytest.raises(ValueError, match="math domain error|nonnegative"):
        next(results)


def test_relative_paths_begin_where_the_command_was_given(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with open_engine("ray", 1, cluster.address) as map_shards:
        assert list(map_shards(os.path.abspath, ["x"])) == [str(tmp_path / "elsewhere" / "x")]
        (tmp_path / "elsewhere").rmdir()
        with pytest.raises(
            PositionBiasError,
            match="wanted a folder that every machine of the cluster sees; found: No such file",
        ):
            list(map_shards(os.path.abspath, ["x"]))


def test_other_software_on_a_node_is_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from positionbias.engine import ray as engine

    here = engine._software()
    monkeypatch.setattr(engine, "_software", lambda: (("python", "2.7"), *here[1:]))
    with open_engine("ray", 1, cluster.address) as map_shards:
        found = (
            f"wanted the same software on every machine of the cluster; found python {here[0][1]} "
            "instead of 2.7; install"
        )
        with pytest.raises(PositionBiasError, match=found):
            list(map_shards(math.sqrt, [4.0]))


COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background of a \
script ignores Ctrl-C
from positionbias.__main__ import main
main()
"""


def start(
    folder: Path, original: Collection, *arguments: str, **environment: str
) -> subprocess.Popen[str]:
    """``posbias debias … --engine ray`` at the head of a session of its own."""
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            COMMAND,
            "debias",
            str(original.path),
            "--out",
            "./rotated",
            "--json",
            "--set",
            "engine=ray",
            *arguments,
        ],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def some_shards(folder: Path, command: subprocess.Popen[str], count: int) -> None:
    """Wait until so many shards have been made."""
    while len(finished(folder)) < count:
        assert command.poll() is None, command.communicate()
        time.sleep(0.005)


def finished(folder: Path) -> dict[str, int]:
    """The shards that are made so far, and their inodes: one that is made again has another."""
    shards = folder / ".rotated.work" / "content" / "passages"
    return {path.name: path.stat().st_ino for path in shards.glob("*.arrow")}


def kept(folder: Path, before: dict[str, int]) -> int:
    return sum(
        path.stat().st_ino == before.get(path.name)
        for path in (folder / "rotated" / "passages").iterdir()
    )


def test_stops_on_a_ray_of_this_machine_and_the_same_command_again(
    original: Collection, tmp_path: Path
) -> None:
    """Ctrl-C; then, of the same command, the death of Ray: without its agent Ray's node ends, and
    with it the process that is connected to it.
    """
    (tmp_path / "tmp").mkdir()
    with start(tmp_path, original, "--workers", "2", TMPDIR=str(tmp_path / "tmp")) as command:
        some_shards(tmp_path, command, 3)
        os.killpg(command.pid, signal.SIGINT)  # as a terminal's Ctrl-C
        out, err = command.communicate()
    # Ray's own, now and then, which nothing turns off
    err = re.sub(r"\[.*\.cc:\d+: .*\n", "", err)
    assert (command.returncode, out, err) == (
        130,
        "",
        "posbias: stopped; run the same command again to go on\n",
    )
    assert_within(60, lambda: processes_of_session(command.pid) == [])
    assert list((tmp_path / "tmp").iterdir()) == []
    first = finished(tmp_path)
    assert 3 <= len(first) < SHARDS
    with start(tmp_path, original, "--workers", "2") as command:
        some_shards(tmp_path, command, len(first) + 1)
        (agent,) = [
            process
            for process in processes_of_session(command.pid)
            if b"DashboardAgent" in Path(f"/proc/{process}/cmdline").read_bytes()
        ]
        os.kill(agent, signal.SIGKILL)
        out, err = command.communicate()
    said = (
        "posbias: engine ray: a process of Ray ended, killed or out of memory; run the same "
        "command again to go on, with fewer --workers if memory was short\n"
    )
    assert (command.returncode, out, err) == (70, "", said)
    assert_within(60, lambda: processes_of_session(command.pid) == [])
    second = finished(tmp_path)
    assert len(first) < len(second) < SHARDS
    # each worker may have been before a receipt
    assert len(first.items() & second.items()) >= len(first) - 2
    assert not (tmp_path / "rotated").exists()
    debias(original, tmp_path / "rotated", Rotation())  # on whatever engine
    assert kept(tmp_path, second) >= len(second) - 2
    assert files_of(tmp_path / "rotated") == files_of(
        debias(original, tmp_path / "wanted" / "rotated", Rotation()).path
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rotated", "tmp", "wanted"]


@dataclass(frozen=True)
class Load:
    """Something that takes long to make: it is known by its time."""

    def __call__(self) -> int:
        return time.monotonic_ns()


def with_loaded(loaded: PerProcess[int], item: int) -> tuple[int, int, int]:
    time.sleep(0.05)
    return loaded(), os.getpid(), item * item


def test_each_gpu_has_a_process_that_keeps_what_it_has_loaded(cluster: Any) -> None:
    with open_engine("ray", 1, cluster.address, gpus=True) as map_shards:
        found = list(map_shards(partial(with_loaded, PerProcess(Load())), range(30)))
        assert [square for _, _, square in found] == [item * item for item in range(30)]
        assert (len({made for made, _, _ in found}), len({process for _, process, _ in found})) == (
            2,
            2,
        )


def test_a_cluster_without_a_gpu_is_one_clear_line(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ray.cluster_resources", dict)
    found = pytest.raises(
        SettingError,
        match="--engine ray: wanted a GPU in the cluster; found none; give --device cpu",
    )
    with open_engine("ray", 1, cluster.address, gpus=True) as map_shards, found:
        list(map_shards(math.sqrt, [4.0]))


def test_a_node_that_is_killed_half_way_changes_nothing(
    cluster: Any, original: Collection, release: Path, tmp_path: Path
) -> None:
    """The last test: a node dies under a debias, and the raw file follows on the cluster as it then
    is.
    """
    wanted = made_by(partial(rotate_collection, original), tmp_path / "one" / "rotated", map)
    wanted_file = made_by(
        partial(rotate_file, release / "collection.tsv"), tmp_path / "file" / "rotated.tsv", map
    )
    shards = tmp_path / "ray" / ".rotated.work" / "content" / "passages"
    finished_at_the_kill: list[int] = []

    def kill() -> None:
        while len(list(shards.glob("*.arrow"))) < SHARDS // 4:
            time.sleep(0.002)
        finished_at_the_kill.append(len(list(shards.glob("*.arrow"))))
        cluster.remove_node(cluster.second, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    with open_engine("ray", 1, cluster.address) as map_shards:
        assert (
            made_by(partial(rotate_collection, original), tmp_path / "ray" / "rotated", map_shards)
            == wanted
        )
        killer.join()
        assert SHARDS // 4 <= finished_at_the_kill[0] < SHARDS
        step = partial(rotate_file, release / "collection.tsv")
        assert made_by(step, tmp_path / "ray-file" / "rotated.tsv", map_shards) == wanted_file
        import ray

        # the cluster notices a death a few seconds after it; both steps may be done by then
        until = time.monotonic() + 60
        while all(node["Alive"] for node in ray.nodes()) and time.monotonic() < until:
            time.sleep(0.2)
        assert sorted(node["Alive"] for node in ray.nodes()) == [False, True]
