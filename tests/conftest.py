"""Shared by all tests: a home of their own, real data where there is some."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from multiprocessing import forkserver
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.progress import set_quiet
from positionbias.core.records import Answer, Passage, Qrel, Query
from tests.forked import OF_WORKERS, package_modules

# No deadline: a machine under load is no failure. Derandomised: a failure is the same for
# everybody.
settings.register_profile(
    "posbias",
    deadline=None,
    derandomize=True,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("posbias")

PASSAGES = (
    Passage("p-lamp", "The lamp of Orvell burns green oil. It hangs in the north hall."),
    Passage(
        "p-gate",
        "Travellers pass the iron gate at dusk, and the gate of Orvell opens only twice a day.",
    ),
    Passage("p-bridge", "A stone bridge joins both banks of the Mirren."),
    Passage("p-tower", "The tower is forty metres high.  Two spaces stand before this sentence."),
    Passage("p-cafe", "Im Café „Zur Brücke“ kostet der Tee drei Kronen."),
    Passage("p-empty", ""),
    Passage("p-word", "Mirren"),
)


def span(query_id: str, passage_id: str, text: str) -> Answer:
    """The answer at the first place where its text stands."""
    start = dict(PASSAGES)[passage_id].index(text)
    return Answer(query_id, passage_id, text, start, start + len(text))


SPLITS = {
    "train": (
        [
            Query("q1", "what does the lamp of Orvell burn"),
            Query("q2", "when do travellers pass the gate"),
        ],
        [Qrel("q1", "p-lamp", 1), Qrel("q1", "p-gate", 0), Qrel("q2", "p-gate", 1)],
        [span("q1", "p-lamp", "green oil"), span("q2", "p-gate", "at dusk")],
    ),
    "test": (
        [
            Query("q3", "what joins the banks of the Mirren", {"type": "entity"}),
            Query("q4", "how high is the tower"),
            Query("q5", "was kostet der Tee"),
        ],
        [
            Qrel("q3", "p-bridge", 1),
            Qrel("q3", "p-word", 0),
            Qrel("q4", "p-tower", 2),
            Qrel("q5", "p-cafe", 1),
        ],
        [
            span("q3", "p-bridge", "A stone bridge"),
            span("q4", "p-tower", "forty metres"),
            span("q5", "p-cafe", "drei Kronen"),
            Answer("q5", "p-cafe", "three crowns"),
        ],
    ),
}


@pytest.fixture(scope="session", autouse=True)
def _worker_processes() -> None:
    """Load the libraries and the package once into the server from which worker processes are
    forked.
    """
    if (
        "PYTEST_XDIST_WORKER" in os.environ
        and "forkserver" in multiprocessing.get_all_start_methods()
    ):
        multiprocessing.set_forkserver_preload([*OF_WORKERS, *package_modules()])
        forkserver.ensure_running()


@pytest.fixture(autouse=True)
def posbias_home(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A $POSBIAS_HOME of each test's own, progress as it is at the start of a command, and lines as
    long as a pipe's.
    """
    home = tmp_path_factory.mktemp("posbias-home")
    monkeypatch.delenv("COLUMNS", raising=False)  # workers of pytest-xdist have 80
    monkeypatch.setenv("POSBIAS_HOME", str(home))
    yield home
    set_quiet(False)


@pytest.fixture(scope="session")
def posbias_data() -> Path:
    """The folder of real data that $POSBIAS_DATA names; the test is skipped where there is none."""
    named = os.environ.get("POSBIAS_DATA")
    if not named:
        pytest.skip("$POSBIAS_DATA names no folder of real data")
    if not Path(named).is_dir():
        pytest.skip(f"$POSBIAS_DATA names {named}, which is no folder")
    return Path(named).absolute()


@pytest.fixture
def small_collection(tmp_path: Path) -> Collection:
    """Seven invented passages, five queries in two splits, answers with offsets (and one
    without).
    """
    place = tmp_path / "small"
    with create_collection(place) as writer:
        writer.add_passages(PASSAGES)
        for split, (queries, qrels, answers) in SPLITS.items():
            writer.add_split(split, queries, qrels, answers)
        writer.finish(Manifest("collection", "small", "a test", seed=1, licence="invented"))
    return Collection(place)


@pytest.fixture
def torchs_threads() -> Iterator[None]:
    """Give torch its number of threads back, for tests that pretend another: a pool of threads
    takes what it finds for the number.
    """
    import torch

    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
