"""``posbias leakage sample`` and ``posbias leakage review``: sheets for people to label, and what they said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from positionbias.cli.common import emit, input_place, json_option, overwrite_option, say, seed_option

if TYPE_CHECKING:
    from positionbias.core.interval import Interval
    from positionbias.leakage.review import Review
    from positionbias.results.figures import Figures
    from positionbias.results.result import Result

__all__ = ["review", "sample"]

_score_option = click.option(
    "--score",
    type=click.Choice(["cosine", "jaccard", "containment"]),
    default="cosine",
    show_default=True,
    help="What similar means.",
)


@click.command()
@click.argument("pairs")
@click.option("--out", required=True, metavar="FILE", help="The sheet, a TSV file with an empty column for labels.")
@click.option("--pairs", "count", type=int, default=100, show_default=True, help="Pairs to draw.")
@click.option("--above", type=float, default=0.8, show_default=True, help="The lowest score of a pair.")
@click.option("--strata", type=int, default=10, show_default=True, help="Parts of equal width, from --above to 1.")
@_score_option
@seed_option()
@overwrite_option
@json_option
def sample(
    pairs: str, out: str, count: int, above: float, strata: int, score: str, seed: int, overwrite: bool, as_json: bool
) -> None:
    """Draw a stratified sample of PAIRS to label, so that posbias leakage calibrate can set a threshold.

    PAIRS is the folder that posbias leakage find wrote, with a --threshold as low as --above. Each drawn pair keeps the number of pairs that it
    stands for, and calibrate counts it so.
    """
    from positionbias.leakage.pairs import read_pairs
    from positionbias.leakage.sample import SampleSettings, stratified_sample
    from positionbias.leakage.sheet import write_sheet
    from positionbias.report.collection_text import aligned
    from positionbias.results.leakage_pairs import SAMPLE, SampleFigures
    from positionbias.results.result import Result

    settings = SampleSettings(count, above, strata, score, seed)
    drawn, parts = stratified_sample(read_pairs(input_place(pairs)), settings)
    write_sheet(out, drawn, overwrite=overwrite)
    rows = [
        (score, "pairs", "drawn"),
        *((f"{part.low:.3f} to {part.high:.3f}", f"{part.pairs:,}", f"{part.drawn:,}") for part in parts),
    ]
    strata_counts = {
        f"{where} {what}": number for where, found, taken in rows[1:] for what, number in (("pairs", found), ("drawn", taken))
    }
    figures = SampleFigures(score=score, rows=strata_counts, drawn=len(drawn))
    drew = Result(SAMPLE, input_place(pairs).name, "", score, seed, float(len(drawn)), None, len(drawn), figures)
    emit([drew], as_json=as_json, table=lambda: aligned(rows))
    if len(drawn) < count:
        say(f"only {len(drawn):,} pairs have a {score} from {above:g} up, fewer than the {count:,} asked for: all were drawn")
    say(f"{len(drawn):,} pairs written to {out}; {_how_to_fill()}")


def _how_to_fill() -> str:
    from positionbias.leakage.labels import label_names

    return f"fill in its last column: {label_names()}"


@click.command()
@click.argument("pairs", metavar="DIR")
@click.option("--out", metavar="FILE", help="Write the sheet to label here.")
@click.option("--filled", multiple=True, metavar="FILE", help="Read this filled sheet; give it again for a second person's.")
@click.option("--per-test", type=click.IntRange(min=1), default=5, show_default=True, help="Pairs for each test query.")
@click.option("--threshold", type=float, metavar="SCORE", help="Only pairs from this score up. [default: all there are]")
@_score_option
@seed_option()
@overwrite_option
@json_option
def review(
    pairs: str, out: str | None, filled: tuple[str, ...], per_test: int, threshold: float | None, score: str, seed: int, overwrite: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """The 5 most similar training queries of each test query that posbias leakage find wrote to DIR, for people to look at.

    With --out the sheet to label; with --filled what one or two people said: how many pairs and test queries are leaks, of which types, and how
    far the two agree. A filled sheet also does as PAIRS for calibrate, clean and evaluate.

    \b
      posbias leakage review leaks --out sheet.tsv
      posbias leakage review leaks --filled first.tsv --filled second.tsv
    """  # fmt: skip
    from positionbias.cli.leakage.beside import beside_text, published_review, target_of_folder
    from positionbias.core.errors import SettingError, bad_input
    from positionbias.leakage.pairs import read_pairs
    from positionbias.leakage.review import most_similar, read_sheet
    from positionbias.leakage.review import review as tables
    from positionbias.leakage.sheet import write_sheet

    if bool(out) == bool(filled):
        raise SettingError(
            "leakage review: wanted --out or --filled; found " + ("both" if out else "neither") + "; give one of them"
        )
    chosen = most_similar(read_pairs(input_place(pairs)), score=score, per_test=per_test, threshold=threshold)
    if not chosen:
        raise bad_input(pairs, wanted="pairs to look at", found="none", do="find some, or lower --threshold")
    if out:
        write_sheet(out, chosen, overwrite=overwrite)
        tests = len({pair.test_id for pair in chosen})
        say(f"{len(chosen):,} pairs of {tests:,} test queries written to {out}; {_how_to_fill()}")
        return
    sheets = [read_sheet(input_place(sheet)) for sheet in filled]
    known = {pair.ids for pair in chosen}
    for place, sheet in zip(filled, sheets, strict=True):
        if others := sheet.keys() - known:
            first = sheet[min(others)]
            do = "give the sheet that was made of it, and the same --per-test and --threshold"
            raise bad_input(place, line=first.line, wanted=f"pairs of {pairs}", found=f"{len(others):,} others", do=do)
    results = _results(tables(sheets, seed=seed), pairs, seed, len(known))
    printed = published_review(target_of_folder(input_place(pairs)), pairs)
    emit([*results, *printed], as_json=as_json, table=lambda: _text(results) + beside_text(printed))


def _results(found: Review, name: str, seed: int, pairs: int) -> list[Result]:
    from positionbias.results.leakage_pairs import KAPPA, LABEL_COUNTS, REVIEWED, KappaFigures, LabelCounts, ReviewFigures
    from positionbias.results.result import Result

    def result(measure: str, value: float | None, interval: Interval | None, count: int, figures: Figures) -> Result:
        return Result(measure, name, "", "by hand", seed, value, interval, count, figures)

    labelled, disagreed = found.true.pairs + found.false.pairs, len(found.disagreed)
    unlabelled = pairs - labelled - disagreed
    figures = ReviewFigures(true=found.true, false=found.false, disagreed=disagreed, without_label=unlabelled)
    results = [
        result(REVIEWED, found.true.pairs / labelled if labelled else None, None, labelled, figures),
        result(LABEL_COUNTS, None, None, labelled, LabelCounts(rows=found.by_label)),
    ]
    for what, kappa in (("labels", found.kappa), ("leak or not", found.kappa_leak)):
        if kappa is not None:
            shares = KappaFigures(observed=kappa.observed, expected=kappa.expected, pairs=kappa.pairs)
            results.append(result(f"{KAPPA}{what}", kappa.kappa, kappa.interval, kappa.pairs, shares))
    return results


def _text(results: list[Result]) -> str:
    from positionbias.report.collection_text import aligned
    from positionbias.results.leakage_pairs import KappaFigures, LabelCounts, ReviewFigures
    from positionbias.results.select import of_type

    ((_, reviewed),), ((_, labels),) = of_type(results, ReviewFigures), of_type(results, LabelCounts)
    table_2a = [("candidates", "pairs", "test queries")]
    held = {"true": reviewed.true, "false": reviewed.false}
    table_2a += [(name, f"{of.pairs:,}", f"{of.test_queries:,}") for name, of in held.items()]
    lines = [
        aligned(table_2a),
        "",
        aligned([("label", "pairs"), *((name, f"{count:,}") for name, count in labels.rows.items())]),
        "",
    ]
    lines += [f"{reviewed.disagreed:,} pairs {_DISAGREED}"] if reviewed.disagreed else []
    lines += [f"{reviewed.without_label:,} pairs have no label"] if reviewed.without_label else []
    for result, _ in of_type(results, KappaFigures):
        sure = f" [{result.interval.low:.2f}, {result.interval.high:.2f}]" if result.interval else ""
        value = "undefined (one same label throughout)" if result.value is None else f"{result.value:.2f}{sure}"
        lines.append(f"{result.measure}: {value}, over {result.count:,} pairs that both labelled")
    return "\n".join(lines).rstrip()


_DISAGREED = "are in neither table, as the two sheets give them different labels: settle them in both"
