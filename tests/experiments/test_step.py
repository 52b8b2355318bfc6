"""Steps are skipped when nothing they rest on has changed, and made again when something has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.core.progress import shown_time
from positionbias.core.steps import digest_of
from positionbias.experiments.step import Planned, Steps


class Study:
    """A folder with one step, which counts how often it is made."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made, self.told = folder, 0, []

    def step(
        self, settings: dict | None = None, inputs: dict | None = None, *, fails: bool = False
    ) -> bool:
        """Whether the step was made."""
        before = self.made
        artefact = self.folder / "thing"

        def make() -> None:
            self.made += 1
            if fails:
                raise KeyboardInterrupt
            artefact.write_text(f"made {self.made}")

        steps = Steps(self.folder, self.told.append)
        assert (
            steps.make(
                "thing", artefact, settings or {"k": 1}, inputs or {"collection": "abc"}, make
            )
            == artefact
        )
        return self.made > before


@pytest.fixture
def study(tmp_path: Path) -> Study:
    made = Study(tmp_path)
    assert made.step()
    return made


def test_a_finished_step_is_skipped(study: Study) -> None:
    assert not study.step()
    assert (study.folder / "thing").read_text() == "made 1"
    assert study.told == ["thing: 0 s", "thing: done before"]
    receipt = json.loads((study.folder / "steps" / "thing.json").read_text())
    assert (receipt["function"], receipt["settings"], receipt["inputs"]) == (
        "thing",
        {"k": 1},
        {"collection": "abc"},
    )


def test_other_settings_or_inputs_make_it_again_and_back_again(study: Study) -> None:
    assert study.step(settings={"k": 2})
    assert not study.step(settings={"k": 2})
    assert study.step()
    assert study.step(inputs={"collection": "def"})
    assert study.step(inputs={"collection": "def", "model": "x"})


def test_a_lost_artefact_or_receipt_makes_it_again(study: Study) -> None:
    (study.folder / "thing").unlink()
    assert study.step()
    receipt = study.folder / "steps" / "thing.json"
    receipt.write_text("[]")
    assert study.step()
    receipt.unlink()
    assert study.step()
    assert not study.step()


def test_an_artefact_changed_by_hand_is_made_again(study: Study) -> None:
    (study.folder / "thing").write_text("by hand")
    assert study.step()
    assert (study.folder / "thing").read_text() == "made 2"
    assert not study.step()


def test_digest_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "cache").mkdir(parents=True)
    (folder / "a").write_bytes(b"one")
    first = digest_of(folder)
    (folder / "cache" / "index").write_bytes(b"rebuilt at will")
    assert digest_of(folder) == first
    (folder / "a").write_bytes(b"two")
    second = digest_of(folder)
    (folder / "a").rename(folder / "b")
    assert len({first, second, digest_of(folder)}) == 3


def dry(folder: Path, settings: dict, inputs: dict | None = None) -> Steps:
    """A dry run of one step."""

    def make() -> None:
        raise AssertionError("a dry run makes nothing")

    steps = Steps(folder, dry_run=True)
    steps.make("thing", folder / "thing", settings, inputs or {"collection": "abc"}, make)
    return steps


def test_a_dry_run_says_what_is_done_and_what_would_be_made(study: Study) -> None:
    before = sorted((path, path.stat().st_mtime_ns) for path in study.folder.rglob("*"))
    done = dry(study.folder, {"k": 1})
    assert (done.planned, done.unmade) == ([Planned("thing", True)], set())
    other = dry(study.folder, {"k": 2})
    assert not other.planned[0].done
    assert other.unmade == {study.folder / "thing"}
    # what it rests on is not there yet: it would be made again whatever its receipt says
    assert not dry(study.folder, {"k": 1}, {"collection": None}).planned[0].done
    assert sorted((path, path.stat().st_mtime_ns) for path in study.folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0 s"), (99, "99 s"), (150, "2 min"), (7200, "2.0 h")]
)
def test_times(seconds: float, shown: str) -> None:
    assert shown_time(seconds) == shown


def test_a_step_that_fails_is_not_finished(study: Study) -> None:
    with pytest.raises(KeyboardInterrupt):
        study.step(settings={"k": 2}, fails=True)
    assert study.step(settings={"k": 2})
