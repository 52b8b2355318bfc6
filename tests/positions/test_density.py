"""Densities of places: shares worked by hand, draws that follow them, and what is no density."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from scipy.stats import chisquare

from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import Manifest
from positionbias.core.rows import frame, records, save
from positionbias.positions.settings import Density, read_density

# bins of a half, a quarter and a quarter of the passage
HISTOGRAM = Density("histogram", 0.0, (0.0, 0.5, 0.75, 1.0), (2.0, 0.0, 6.0))


def test_shares_by_hand() -> None:
    assert Density("front", 0.0).shares(4) == pytest.approx([0.25] * 4)
    # λ = 1: F(½) = (1 − e^−6) / (1 − e^−12) = 0.99752125 / 0.99999386
    first, second = Density("front", 1.0).shares(2)
    assert first == pytest.approx(0.9975274, abs=1e-7)
    assert first + second == pytest.approx(1.0)
    assert Density("front", 0.5).shares(2)[0] == pytest.approx((0.5 + 0.9975274) / 2, abs=1e-7)
    assert Density("end", 0.5).shares(5) == pytest.approx(Density("front", 0.5).shares(5)[::-1])
    # folded: the middle half of the passage has what the front's first half has, (0.5 + 0.9975274)
    # / 2 = 0.7487637
    assert Density("middle", 0.5).shares(4) == pytest.approx(
        [0.1256182, 0.3743818, 0.3743818, 0.1256182], abs=1e-7
    )
    # ¼ of the mass lies evenly in the first half, ¾ in the last quarter: of thirds the second has
    # 1/6 / 1/2 of ¼, and none of the empty bin
    assert HISTOGRAM.shares(3) == pytest.approx([1 / 6, 1 / 12, 3 / 4])


@pytest.mark.parametrize(
    "density",
    [Density(), Density("front", 0.7), HISTOGRAM],
)
def test_draws_follow_the_shares(density: Density) -> None:
    parts, draws = 6, 3_000
    shares = density.shares(parts)
    assert sum(shares) == pytest.approx(1)
    drawn = Counter(density.draw(parts, 1, "test", number) for number in range(draws))
    likely = [part for part in range(parts) if shares[part] > 1e-9]
    assert set(drawn) <= set(likely)
    expected = [shares[part] * draws for part in likely]
    assert (
        chisquare(
            [drawn[part] for part in likely], [item * draws / sum(expected) for item in expected]
        ).pvalue
        > 0.001
    )


def test_a_denser_front_never_moves_a_draw_towards_the_end() -> None:
    front, uniform, end = Density("front", 0.9), Density(), Density("end", 0.9)
    drawn = [
        [density.draw(7, 3, "test", number) for density in (front, uniform, end)]
        for number in range(200)
    ]
    assert all(first <= second <= third for first, second, third in drawn)
    assert len({tuple(item) for item in drawn}) > 10


@pytest.mark.parametrize(
    "text",
    [
        "uniform",
        "front:0.8",
    ],
)
def test_text_and_record_come_back(text: str) -> None:
    assert str(Density.parse(text)) == text
    assert Density.of(Density.parse(text).record()) == Density.parse(text)


def test_a_histogram_is_read_from_what_posbias_writes(tmp_path: Path) -> None:
    bins = {"study": "histogram", "measure": "answer positions", "statistic": "share"}
    made = frame(
        [
            {**bins, "collection": name, "axis": "bin", "label": str(place), "count": count}
            for name in ("msmarco", "squad")
            for place, count in enumerate((2, 0, 6, 0))
        ]
    )
    one = made[made["collection"] == "msmarco"]
    save(tmp_path / "results", one, Manifest(kind="results", name="r", command="a test"))
    (tmp_path / "one.json").write_text(json.dumps({"rows": records(one)}))
    (tmp_path / "plain.json").write_text(
        '{"edges": [0, 0.25, 0.5, 0.75, 1], "counts": [2, 0, 6, 0]}'
    )
    for place in ("results", "one.json", "plain.json"):
        density = read_density(tmp_path / place)
        assert density == Density.parse(str(tmp_path / place))
        assert (density.edges, density.counts) == ((0, 0.25, 0.5, 0.75, 1), (2, 0, 6, 0))
    assert Density.of(json.loads(json.dumps(HISTOGRAM.record()))) == HISTOGRAM
    (tmp_path / "two.json").write_text(json.dumps({"rows": records(made)}))
    with pytest.raises(
        InputError, match="wanted one histogram; found 2 of them; make one for a single split with"
    ):
        read_density(tmp_path / "two.json")


@pytest.mark.parametrize("text", ["front", "front:x", "front:1.5", "no-such-file"])
def test_what_is_no_density_is_said_in_one_line(text: str) -> None:
    with pytest.raises(SettingError, match=f"--density: wanted uniform, front:X, .*; found {text}"):
        Density.parse(text)


@pytest.mark.parametrize(
    "record",
    [
        '{"edges": [0, 1], "counts": [1, 2]}',
        '{"edges": [0, 0.6, 0.5, 1], "counts": [1, 2, 3]}',
    ],
)
def test_what_is_no_histogram_is_said(tmp_path: Path, record: str) -> None:
    (tmp_path / "h.json").write_text(record)
    with pytest.raises(
        SettingError, match="--density: wanted a histogram with increasing edges from 0 to 1"
    ):
        read_density(tmp_path / "h.json")


@pytest.mark.parametrize("record", ['{"edges": [0, "x"], "counts": [1]}', "no JSON"])
def test_a_file_without_a_histogram_is_refused(tmp_path: Path, record: str) -> None:
    (tmp_path / "h.json").write_text(record)
    with pytest.raises(InputError, match="histogram"):
        read_density(tmp_path / "h.json")
