"""Training sets of clicks that were stopped, or met a full disk: the next run ends with the same
bytes, and trusts nothing that is cut or of another order.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from positionbias.clicks import trainset
from positionbias.clicks.draw import TRIPLE, DrawnBlock, draw_block
from positionbias.clicks.shuffle import ranges
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import StorageError
from positionbias.core.manifest import Manifest
from positionbias.core.run_blocks import run_blocks
from tests.clicks.conftest import contents, draw
from tests.forked import forked


def test_an_interrupted_run_goes_on(
    clicks: tuple[Collection, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainset, "run_blocks", lambda path: run_blocks(path, 700))
    whole = list(draw(tmp_path / "whole", clicks))
    made = stop_at(monkeypatch, "draw_block", 4)
    with pytest.raises(KeyboardInterrupt):
        draw(tmp_path / "set", clicks)
    assert not (tmp_path / "set").exists()
    blocks = len(list(run_blocks(clicks[1], 700)))
    assert list(draw(tmp_path / "set", clicks)) == whole
    assert len(made) == blocks + 1  # three blocks were kept, the fourth was begun twice
    assert not (tmp_path / "set" / ".draws").exists()


def stop_at(monkeypatch: pytest.MonkeyPatch, name: str, time: int) -> list[int]:
    """Let a function of ``trainset`` be interrupted when it is called for the given time; gives
    what counts its calls.
    """
    made: list[int] = []
    whole = getattr(trainset, name)

    def failing(*given: Any, **more: Any) -> Any:
        made.append(1)
        if len(made) == time:
            raise KeyboardInterrupt
        return whole(*given, **more)

    monkeypatch.setattr(trainset, name, failing)
    return made


@pytest.mark.parametrize(
    ("step", "time"),
    [("draw_block", 1), ("_groups_of", 2), ("_write_lines", 1), ("_write_quality", 1)],
)
def test_wherever_it_stops_it_ends_with_the_same_bytes(
    clicks: tuple[Collection, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    time: int,
) -> None:
    # several shards of groups
    monkeypatch.setattr(trainset, "ranges", lambda paths, wanted: ranges(paths, wanted, 200))
    settings: dict[str, Any] = {"negatives": 15, "form": "text"}
    draw(tmp_path / "whole" / "set", clicks, **settings)
    made = stop_at(monkeypatch, step, time)
    with pytest.raises(KeyboardInterrupt):
        draw(tmp_path / "part" / "set", clicks, **settings)
    draw(tmp_path / "part" / "set", clicks, **settings)
    assert len(made) > time
    assert contents(tmp_path / "part" / "set") == contents(tmp_path / "whole" / "set")


def test_a_collection_in_another_order_is_drawn_from_anew(
    clicks: tuple[Collection, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same passages at the same place in another order have the same checksum and other
    rows.
    """
    place, settings = tmp_path / "tiny", {"negatives": 3, "form": "ids"}
    shutil.copytree(clicks[0].path, place)
    with monkeypatch.context() as interrupted:
        stop_at(interrupted, "_groups_of", 1)
        with pytest.raises(KeyboardInterrupt):
            draw(tmp_path / "part" / "set", (Collection(place), clicks[1]), **settings)
    with create_collection(place, overwrite=True) as writer:
        writer.add_passages(reversed(list(clicks[0].passages())))
        writer.add_split("train", clicks[0].queries("train"), clicks[0].qrels("train"))
        writer.add_qrels("train", "dctr", clicks[0].qrels("train", "dctr"))
        writer.finish(Manifest("collection", "tiny", "a test"), allow_absent=True)
    assert Collection(place).checksum == clicks[0].checksum
    whole = draw(tmp_path / "whole" / "set", clicks, **settings)
    assert list(
        draw(tmp_path / "part" / "set", (Collection(place), clicks[1]), **settings)
    ) == list(whole)


FULL_DISK = """
import resource, sys
from pathlib import Path
from positionbias.clicks.trainset import write_click_set
from positionbias.clicks.settings import ClickSettings
from positionbias.core.collection import Collection
from positionbias.core.errors import StorageError

place, run, out, limit = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))  # refused as on a full disk, \
with EFBIG for ENOSPC
try:
    write_click_set(Path(out), Collection(place), Path(run), ClickSettings(negatives=2, triples=20))
except StorageError as error:
    print(error)
"""


def test_a_full_disk_leaves_no_draw_that_is_cut(
    clicks: tuple[Collection, Path], tmp_path: Path
) -> None:
    whole = list(draw(tmp_path / "whole", clicks, negatives=2, triples=20))
    out = tmp_path / "set"
    # all but the last query, 57 positives with two negatives each, make 2,736 bytes, of which the
    # disk takes 2,600
    done = forked(
        [clicks[0].path, clicks[1], out, 2600], Path(__file__).parents[2], os.environ, FULL_DISK
    )
    assert done.returncode == 0, done.stderr
    assert "found: File too large" in done.stdout
    assert done.stdout.endswith("what is finished is kept: run the same command again to go on\n")
    assert list(draw(out, clicks, negatives=2, triples=20)) == whole


def test_a_draw_that_was_kept_and_is_cut_is_made_again(
    clicks: tuple[Collection, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(*given: Any) -> DrawnBlock:
        facts = draw_block(*given)
        given[-1].write_bytes(given[-1].read_bytes()[: -5 * TRIPLE.itemsize])
        return facts

    whole = list(draw(tmp_path / "whole", clicks, negatives=2))
    with monkeypatch.context() as patched:
        patched.setattr(trainset, "draw_block", cut)
        with pytest.raises(
            StorageError,
            match=r"wanted 2,736 bytes of drawn triples; found 2,616; check the disk, then run",
        ):
            draw(tmp_path / "set", clicks, negatives=2)
    assert list(draw(tmp_path / "set", clicks, negatives=2)) == whole
