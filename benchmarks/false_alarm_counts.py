"""What the audits of blind scorers come to: the counts of each campaign, which are kept, and the
tables of all campaigns together.
"""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from blind_scorers import EDGED, NOISES, ORDERED, PLAIN, UNORDERED
from measuring import hardware

from positionbias.audit.answers import Preference
from positionbias.audit.settings import AuditSettings
from positionbias.audit.trials import MOVES as COLUMNS
from positionbias.evaluation.clustered import family_wise

QUERIES = 200
SIZES = (QUERIES,)
REAL_SIZES = (200, 1_000)
FIRST_SEED = 100_001
# a query's candidates: passages that mention its words, and passages of other queries
MENTIONS, STRANGERS = 7, 2
MARGIN = AuditSettings().margin
SCORERS = (*UNORDERED, *ORDERED)

NOMINAL, MOST, LEVEL = 0.05, 0.06, 0.95


class Condition(NamedTuple):
    """How a collection is planted."""

    front_loading: float
    clustered: bool

    @property
    def name(self) -> str:
        return f"{self.front_loading:g}-{'clustered' if self.clustered else 'flat'}"


CONDITIONS = tuple(
    Condition(front, clustered) for front in (0.0, 0.7) for clustered in (False, True)
)


class Counted(NamedTuple):
    """Audits of one scorer: how many, how many found a preference, how many could not tell, in how
    many an interval left out 0 (margin or not), the orders of all, and in how many the scorer did
    not react to its evidence."""

    audits: float = 0
    found: float = 0
    unknown: float = 0
    off_zero: float = 0
    orders: float = 0
    unreactive: float = 0

    @staticmethod
    def of(rows: Iterable[Mapping[str, Any]]) -> Counted:
        """Of the answers in receipts."""
        return _sum(
            Counted(1, *_answered(row), row["orders"], row["preference"] == Preference.UNREACTIVE)
            for row in rows
        )

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95 % interval of the share that found a preference."""
        from scipy.stats import binomtest

        bounds = binomtest(round(self.found), round(self.audits)).proportion_ci(
            LEVEL, method="exact"
        )
        return float(bounds.low), float(bounds.high)

    @property
    def p(self) -> float:
        """Of the exact test that the share is above 5 %."""
        from scipy.stats import binomtest

        return float(
            binomtest(round(self.found), round(self.audits), NOMINAL, alternative="greater").pvalue
        )


def _answered(row: Mapping[str, Any]) -> tuple[bool, bool, bool]:
    said = Preference(row["preference"])
    off = any(low > 0 or high < 0 for _, low, high in row["effects"].values() if low is not None)
    return (
        said not in (Preference.NONE, Preference.UNKNOWN, Preference.UNREACTIVE),
        said is Preference.UNKNOWN,
        off,
    )


class Moments(NamedTuple):
    """Of some effects: how many, their sum, and the sum of their squares."""

    count: float = 0
    total: float = 0
    squares: float = 0

    @staticmethod
    def of(values: Iterable[float]) -> Moments:
        return _sum(Moments(1, value, value * value) for value in values)

    def __str__(self) -> str:
        """The mean with its 95 % t interval."""
        from scipy.stats import t

        if self.count < 2:
            return "–"
        mean = self.total / self.count
        variance = max(0.0, self.squares - self.count * mean**2) / (self.count - 1)
        half = t.ppf((1 + LEVEL) / 2, self.count - 1) * (variance / self.count) ** 0.5
        return f"{mean:+.4f} [{mean - half:+.4f}, {mean + half:+.4f}]"


Row = TypeVar("Row", Counted, Moments)


def _sum(rows: Iterable[Row]) -> Row:
    found = list(rows)
    return cast(Row, type(found[0])(*(sum(column) for column in zip(*found, strict=True))))


@dataclass
class Counts:
    """A campaign's counts. Keys are joined with "|": ``planted`` has scorer, size and condition;
    ``effects`` scorer and contrast; ``real`` scorer, text and size. ``made`` says where and of
    what, in words; ``seeds`` are those of the planted collections, so that none is counted
    twice."""

    made: list[str] = field(default_factory=list)
    seconds: float = 0
    seeds: list[int] = field(default_factory=list)
    collections: dict[str, int] = field(default_factory=dict)
    planted: dict[str, Counted] = field(default_factory=dict)
    effects: dict[str, Moments] = field(default_factory=dict)
    real: dict[str, Counted] = field(default_factory=dict)

    @staticmethod
    def of(state: Path) -> Counts:
        """Of a campaign's receipts."""
        found = Counts()
        for path in sorted(state.glob("*.json")):
            found.add(_counts_of(json.loads(path.read_text())))
        versions = ", ".join(
            f"{name} {version(name)}" for name in ("numpy", "scipy", "positionbias")
        )
        minutes = (
            f"{found.seconds / 60:.0f} minutes of one processor for "
            f"{sum(found.collections.values())} planted collections"
        )
        found.made = [
            (
                f"{hardware()}; Python {platform.python_version()}, {versions}; "
                f"{date.today().isoformat()}; {minutes}"
            )
        ]
        return found

    def add(self, other: Counts) -> None:
        """Add another campaign's."""
        if twice := set(self.seeds) & set(other.seeds):
            raise ValueError(
                f"wanted campaigns of other collections; found {len(twice)} seeds in both, the "
                f"first {min(twice)}; keep them once"
            )
        self.made, self.seeds = [*self.made, *other.made], sorted([*self.seeds, *other.seeds])
        self.seconds += other.seconds
        self.collections = dict(Counter(self.collections) + Counter(other.collections))
        for name in ("planted", "effects", "real"):
            mine, theirs = getattr(self, name), getattr(other, name)
            mine.update(
                {key: _sum([mine[key], row]) if key in mine else row for key, row in theirs.items()}
            )

    def write(self, place: Path) -> None:
        """A line a count."""
        lines = ",\n".join(
            f" {json.dumps(one.name)}: {_laid_out(getattr(self, one.name))}" for one in fields(self)
        )
        place.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")

    @staticmethod
    def read(place: Path) -> Counts:
        """As written."""
        row = json.loads(place.read_text(encoding="utf-8"))
        kinds = {"planted": Counted, "effects": Moments, "real": Counted}
        rows = {
            name: {key: kind(*values) for key, values in row.pop(name).items()}
            for name, kind in kinds.items()
        }
        return Counts(**row, **rows)


def _laid_out(value: Any) -> str:
    if not isinstance(value, dict):
        return json.dumps(value)
    return (
        "{"
        + ",".join(f"\n  {json.dumps(key)}: {json.dumps(each)}" for key, each in value.items())
        + "}"
    )


def _counts_of(one: Mapping[str, Any]) -> Counts:
    """Of one receipt."""
    found = Counts()
    if "condition" in one:  # a planted collection's
        found.seconds, found.seeds, found.collections = (
            one["seconds"],
            [one["seed"]],
            {one["condition"]: 1},
        )
        for name, by_size in one["audits"].items():
            for size, rows in by_size.items():
                found.planted[f"{name}|{size}|{one['condition']}"] = Counted.of(rows)
                if int(size) == SIZES[-1]:
                    for contrast in COLUMNS:
                        known = [
                            row["effects"][contrast][0]
                            for row in rows
                            if row["effects"].get(contrast)
                        ]
                        if values := [value for value in known if value is not None]:
                            found.effects[f"{name}|{contrast}"] = Moments.of(values)
    else:
        group = f"{one['what']}|{one['queries']}"
        found.real = {f"{name}|{group}": Counted.of([row]) for name, row in one["audits"].items()}
    return found


def planted_tables(counts: Counts) -> list[str]:
    """Rates by cell, pooled ones with their bounds, and what the scorers show in truth."""
    names = [condition.name for condition in CONDITIONS]
    cells = {
        (name, size, condition): counts.planted.get(f"{name}|{size}|{condition}", Counted())
        for name in SCORERS
        for size in SIZES
        for condition in names
    }
    held = {key: cell for key, cell in cells.items() if cell.audits}
    adjusted = family_wise({"|".join(map(str, key)): cell.p for key, cell in held.items()})
    planted = ", ".join(f"{counts.collections.get(name, 0)} {name}" for name in names)
    lines = [
        "## Rates",
        "",
        f"Collections of {QUERIES:,} queries, newly drawn, with one audit each: {planted}.",
        "A cell (0-flat: front-loading 0, one question a passage; clustered: five questions a "
        "passage) has audits that found any preference / audits, with the exact 95 % interval. "
        "Pooled: over the four cells. Holm: the least adjusted p, over all cells of the table, "
        "that a cell's share is above 5 %. Off 0: audits in which an interval left out 0, whether "
        "or not it lay within the margin of 10 % of the worth. No reaction: audits that answered "
        "that the scorer does not react to its evidence, in which no preference can be found. The "
        "noise of *noise …* is one draw at several sizes, so that these scorers are accused "
        "together.",
        "",
        (
            f"| scorer | queries | {' | '.join(names)} | pooled | upper bound | Holm | off 0 | "
            "cannot tell | no reaction | orders |"
        ),
        f"|---|---:|{'---|' * len(names)}---:|---:|---:|---:|---:|---:|---:|",
    ]
    broken, open_ones = list[str](), list[str]()
    for name in SCORERS:
        for size in SIZES:
            own = {key: cell for key, cell in held.items() if key[:2] == (name, size)}
            if not own:
                continue
            pooled = _sum(own.values())
            p = min(
                value for key in own if (value := adjusted["|".join(map(str, key))]) is not None
            )
            shown = [_cell(cells[name, size, condition]) for condition in names]
            high = pooled.interval[1]
            lines.append(
                f"| {name} | {size:,} | {' | '.join(shown)} | {pooled.found}/{pooled.audits} | "
                f"{100 * high:.1f} % | {p:.2g} | {100 * pooled.off_zero / pooled.audits:.1f} % | "
                f"{100 * pooled.unknown / pooled.audits:.1f} % | "
                f"{100 * pooled.unreactive / pooled.audits:.1f} % | "
                f"{pooled.orders / pooled.audits:.1f} |"
            )
            said = (
                f"{name} at {size:,}: {pooled.found} of {pooled.audits}, upper bound "
                f"{100 * high:.1f} %, Holm {p:.2g}"
            )
            if p < NOMINAL or pooled.found > NOMINAL * pooled.audits:
                broken.append(said)
            elif high > MOST:
                open_ones.append(f"{name} at {size:,} ({pooled.found}/{pooled.audits})")
    for letter, battery in zip("AB", (UNORDERED, ORDERED), strict=True):
        whole = _sum(cell for key, cell in held.items() if key[0] in battery)
        share, most = whole.found / whole.audits, whole.interval[1]
        lines += [
            "",
            (
                f"Battery {letter}: {whole.found} of {whole.audits:,} audits found a preference, "
                f"{100 * share:.2f} % (exact upper bound {100 * most:.2f} %)."
            ),
        ]
    fewest = [
        f"{min(cell.audits for key, cell in held.items() if key[1] == size):,} of {size:,} queries"
        for size in SIZES
    ]
    bars = "Bars: no cell above 5 % by Holm, pooled upper bounds at most 6 %."
    lines += [
        "",
        bars,
        "",
        f"Broken: {'; '.join(broken) or 'none'}.",
        (
            "Held so far, by too few audits for an upper bound of 6 %: "
            f"{'; '.join(open_ones) or 'none'}."
        ),
        f"Fewest audits of a cell: {'; '.join(fewest)}.",
    ]
    return [*lines, *_sizes(counts)]


def _cell(one: Counted) -> str:
    if not one.audits:
        return "–"
    low, high = one.interval
    return f"{one.found}/{one.audits} [{100 * low:.1f}, {100 * high:.1f}]"


def _sizes(counts: Counts) -> list[str]:
    """The effects over all collections, and of the scorers that are not blind to edges."""
    lines = [
        "",
        "## What the scorers show over all collections",
        "",
        (
            "Means over the audits, in shares of the worth, with 95 % t intervals over audits; of "
            "scorers that react to their evidence. *cut window* is in neither battery: its windows "
            "are cut at the edges of a text, so that fewer of them hold what stands there, and it "
            "does prefer places."
        ),
        "",
    ]
    lines += [f"| scorer | {' | '.join(COLUMNS)} |", f"|---|{'---:|' * len(COLUMNS)}"]
    for name in (*SCORERS, *EDGED):
        moments = [str(counts.effects.get(f"{name}|{column}", Moments())) for column in COLUMNS]
        lines.append(f"| {name} | {' | '.join(moments)} |")
    return lines


def real_tables(counts: Counts) -> list[str]:
    """Counts on real text."""
    lines = [
        "",
        "## Real text",
        "",
        "Counts only: samples of one set share its articles' style, and blindness is known of the "
        "scorer, not of the set. SQuAD: samples of whole articles, disjoint; candidates are nine "
        "other paragraphs of the article. MS MARCO: the answers found word for word in a passage; "
        "candidates are nine other passages. Found / cannot tell / no reaction / samples.",
        "",
    ]
    return lines + _by_group(
        counts.real,
        (*SCORERS, *EDGED),
        lambda one: (one.found, one.unknown, one.unreactive, one.audits),
        ", {:,} queries",
    )


def _by_group(rows: Mapping[str, Any], scorers: Sequence[str], shown: Any, title: str) -> list[str]:
    """A row a scorer, a column a text and size."""
    groups = sorted({(what, int(size)) for what, size in (key.split("|")[1:] for key in rows)})
    lines = [
        f"| scorer | {' | '.join(what + title.format(size) for what, size in groups)} |",
        f"|---|{'---:|' * len(groups)}",
    ]
    for name in scorers:
        cells = [rows.get(f"{name}|{what}|{size}") for what, size in groups]
        texts = ["–" if one is None else " / ".join(map(str, shown(one))) for one in cells]
        lines.append(f"| {name} | {' | '.join(texts)} |")
    return lines


def table(counts: Counts, parts: Sequence[str]) -> str:
    """All tables, of all these kept campaigns."""
    described = [
        f"- *{name}*: {' '.join((PLAIN[name].__doc__ or DESCRIBED.get(name, '')).split())}"
        for name in (*SCORERS, *EDGED)
    ]
    return (
        "\n".join(
            [
                "# How often the audit accuses scorers that are blind to places",
                "",
                *(
                    f"    python benchmarks/audit_false_alarms.py {line}"
                    for line in (
                        "check STATE",
                        "audit STATE",
                        "squad STATE --data FILE",
                        "spans STATE --data FILE",
                        "keep STATE --name NAME",
                        "table",
                    )
                ),
                "",
                "Campaigns, with their counts:",
                "",
                *(f"- `{name}`: {how}." for name, how in zip(parts, counts.made, strict=True)),
                "",
                "The audit's own exchanges, placebos, rotations, numbers of orders (2 to 8, from a "
                "pilot of 50 queries), intervals and answers; scores from arrays, which equal the "
                "scorers of plain text, and whose verdicts equal those of `audit()` itself "
                "(`check`). Margin 10 % of the evidence's worth. The collection holds, beside a "
                f"query's passage, {MENTIONS} passages that mention its words; of its candidates "
                f"{MENTIONS} mention a planted query's words, {STRANGERS} do not.",
                "",
                *described,
                "",
                *planted_tables(counts),
                *real_tables(counts),
            ]
        )
        + "\n"
    )


DESCRIBED = {
    **{
        name: (
            f"overlap, and normal noise of {level:g} of its deviation, keyed by the query and the "
            "text."
        )
        for name, level in NOISES.items()
    },
    "length": "fewer words are better.",
    "noise alone": "normal noise, keyed by the query and the text.",
    "best sentence": "the most of the query's words in one sentence.",
    "window": "the most of the query's words in 20 neighbouring words.",
}
