"""ir_metadata headers: their text from a manifest, worked by hand, and that every reader reads a
run as it does without them.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import positionbias as pb
from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import InputRef, Manifest
from positionbias.core.run import read_rankings, read_run
from positionbias.core.run_blocks import run_blocks
from positionbias.settings import PlantedSettings, Retrieval, RunHeader

RUN = "q1 Q0 p1 1 2.0 t\nq1 Q0 p2 2 1.0 t\nq2 Q0 p1 1 1.0 t\n"
HEADER = "# ir_metadata.start\n# tag: t\n#   deeper: ö\n# ir_metadata.end\n"
RERANKED = Manifest(
    kind="run",
    name="my tk",
    command="rerank",
    settings={"split": "dev", "depth": 30},
    inputs=(
        InputRef("model", "../tk.ckpt", "c0"),
        InputRef("collection", "../../squad", "c1"),
        InputRef("candidates", "bm25.run.gz", "c2"),
    ),
    versions={"python": "3.11.7", "positionbias": "0.1.0", "torch": "2.6.0"},
    provenance={"created": "now", "seconds": 3.0},
)


def test_the_header_tells_what_the_manifest_does() -> None:
    assert RunHeader("software").lines(RERANKED) == [
        "# ir_metadata.start",
        "# schema-version: 0.1",
        "# run-version: 1.0",
        "# tag: my_tk",
        "# platform:",
        "#   software:",
        "#     libraries:",
        "#       python:",
        "#       - python==3.11.7",
        "#       - positionbias==0.1.0",
        "#       - torch==2.6.0",
        "#     retrieval toolkit:",
        "#     - positionbias==0.1.0",
        "# research goal: {}",
        "# implementation:",
        "#   executable:",
        "#     cmd: posbias rerank",
        "#   source:",
        "#     lang:",
        "#     - Python",
        "# method:",
        "#   automatic: true",
        "#   score ties: reverse alphabetical order",
        "#   retrieval:",
        "#   - name: my_tk",
        "#     method: posbias rerank",
        "#     params:",
        "#       depth: 30",
        "#     reranks: bm25",
        "# actor: {}",
        "# data:",
        "#   test collection:",
        "#     name: squad",
        "#     checksum: c1",
        "#     split: dev",
        "#   other:",
        "#   - kind: model",
        "#     name: tk.ckpt",
        "#     checksum: c0",
        "# ir_metadata.end",
    ]


def test_the_machine_is_told_only_on_request() -> None:
    assert RunHeader().lines(RERANKED) == []
    lines = RunHeader("hardware").lines(RERANKED)
    found = msgspec.yaml.decode("\n".join(line.removeprefix("# ") for line in lines[1:-1]))
    assert found["platform"]["hardware"]["cpu"]["number of cores"] >= 1
    assert found["platform"]["operating system"]["kernel"]
    with pytest.raises(
        SettingError, match="--ir-metadata: wanted one of nothing, software, hardware; found 'all'"
    ):
        RunHeader("all")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "header", [HEADER, HEADER * 2, "\ufeff" + HEADER, HEADER.replace("\n", "\r\n")]
)
@pytest.mark.parametrize("size", [1, 30, 1 << 20])
@pytest.mark.parametrize("packed", [False, True])
def test_a_run_with_a_header_is_the_run_without(
    tmp_path: Path, header: str, size: int, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("positionbias.core.run.run_blocks", lambda path: run_blocks(path, size))
    path = tmp_path / ("r.run.gz" if packed else "r.run")
    data = (header + RUN).encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    wanted = [("q1", ["p1", "p2"]), ("q2", ["p1"])]
    assert [(own.query_id, list(own.passage_ids)) for own in read_rankings(path)] == wanted
    assert [(own.query_id, list(own.passage_ids)) for own in read_run(path).rankings()] == wanted


@pytest.mark.parametrize("read", [read_run, lambda path: list(read_rankings(path))])
def test_faults_behind_and_in_a_header_name_their_line(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    path = tmp_path / "r.run"
    cases = {
        HEADER + RUN + "q3 Q0 p1\n": r"r\.run:8: wanted six columns: .*; found 3 columns",
        RUN + HEADER: r"r\.run:4: wanted six columns: .*; found 2 columns",
        HEADER.removesuffix("# ir_metadata.end\n")
        + RUN: r"r\.run:1: wanted a line '# ir_metadata\.end' after",
        HEADER * 2 + "# ir_metadata.start\n": r"r\.run:9: wanted a line '# ir_metadata\.end' after",
        HEADER: r"r\.run: wanted six columns: .*; found an empty file",
    }
    for text, said in cases.items():
        path.write_text(text)
        with pytest.raises(InputError, match=said):
            read(path)


def test_a_query_may_be_called_as_a_comment_begins(tmp_path: Path) -> None:
    (tmp_path / "r.run").write_text("# Q0 p1 1 2.0 t\n#2 Q0 p1 1 2.0 t\n")
    assert list(read_run(tmp_path / "r.run")) == ["#", "#2"]


def test_written_runs_differ_by_their_header_alone(tmp_path: Path) -> None:
    planted = pb.import_planted(
        planted=PlantedSettings(queries=40, passages=80), out=str(tmp_path / "planted")
    )
    places = {}
    for told in ("nothing", "software", "hardware"):
        places[told] = tmp_path / f"{told}.run"
        pb.retrieve(
            planted, wanted=Retrieval(depth=5, header=RunHeader(told)), out=str(places[told])
        )
    texts = {
        told: path.read_text().partition("# ir_metadata.end\n") for told, path in places.items()
    }
    assert texts["software"][2] == texts["hardware"][2] == texts["nothing"][0]
    pb.ensemble(
        [str(places["software"]), str(places["hardware"])],
        header=RunHeader("software"),
        out=str(tmp_path / "e.run"),
    )
    lines = (tmp_path / "e.run").read_text().partition("# ir_metadata.end\n")[0].splitlines()
    assert lines[lines.index("#     interpolates:") + 1 :][:2] == [
        "#     - software",
        "#     - hardware",
    ]
    assert len(read_run(tmp_path / "e.run")) == len(planted.queries("test"))
    pb.verify([str(tmp_path)])
