"""Presentation of trained systems, their names and comparisons, and of a study's plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pandas import DataFrame, Series

from positionbias.core.progress import shown_time
from positionbias.evaluation.answers import Compared
from positionbias.evaluation.convergence import UNFINISHED
from positionbias.report.presentation import Presentation
from positionbias.report.record import Answer, Answered, Question, Record, said
from positionbias.report.table import RowTable, Value

# the papers' names, those of the position-bias paper in its order
MODELS = {
    "bert_cat": "BERT_CAT",
    "bert_dot": "BERT_DOT",
    "tk": "TK",
    "colbert": "ColBERT",
    "knrm": "KNRM",
    "conv_knrm": "ConvKNRM",
    "duet": "Duet",
    "pacrr": "PACRR",
    "mono_t5": "monoT5",
}

NAMES: Mapping[str, str] = {**MODELS, "bm25": "BM25", "ensemble": "Ensemble"}
IDLE = (
    "Train longer, start from word vectors or an encoder, or add BM25's scores (posbias model "
    "ensemble)."
)
TRAIN_LONGER = "Train longer: validation still rose when the training ended, so nothing is decided."

OVER_NOTE = (
    "Intervals and p of three training seeds or more are over trainings and queries; of one seed "
    "over queries alone, and speak of this checkpoint; of two there are none."
)
EFFECT_NOTE = (
    "Effect size: the mean difference over the deviation of the differences (d_z). " + OVER_NOTE
)


def capital(text: str) -> str:
    """Capitalise the first letter and keep the rest."""
    return text[:1].upper() + text[1:]


def named(rows: DataFrame, words: Mapping[str, str] | None = None) -> DataFrame:
    """Add the columns ``system``, a model's name with its start; ``trained``, the variant of its
    training; ``whole``, both; and ``beside``, what it is compared with. ``words`` are those of
    variants.
    """
    words = words or {}
    model = rows["model"].map(lambda name: NAMES.get(name, name))
    start = rows["start"].map(lambda name: name and f", {name}")
    ended = rows["finished"].map({True: "", False: f", {UNFINISHED}"})
    trained = rows["variant"].map(lambda name: words.get(name, name))
    system: Series = model + start + ended
    whole = system + trained.map(lambda name: name and f" ({name})")
    beside = rows["against"].map(lambda base: _beside(base, words))
    return rows.assign(system=system, trained=trained, whole=whole, beside=beside)


def _beside(against: str, words: Mapping[str, str]) -> str:
    """Name a baseline by its model, else by its training, else by what differs.

    >>> _beside("model=bert_cat, start=minilm, role=re-ranker", {})
    'BERT_CAT, minilm'
    """
    parts = parts_of(against)
    if "model" in parts:
        model = NAMES.get(parts["model"], parts["model"])
        return ", ".join(filter(None, (model, parts.get("start"))))
    return words.get(parts["variant"], parts["variant"]) if "variant" in parts else against


def parts_of(against: str) -> dict[str, str]:
    """Return what a baseline differs in, by name.

    >>> parts_of("source=far (original), training=rotated")
    {'source': 'far (original)', 'training': 'rotated'}
    """
    return dict(part.partition("=")[::2] for part in against.split(", "))


def comparison_cells(base: str, own: str, correction: str = "Holm") -> list[Value]:
    """Return the cells of a comparison's line, with the headings of both means and the name of its
    correction.
    """
    return [
        Value("baseline mean", base),
        Value("candidate mean", own),
        Value("difference", "Difference", "+.3f"),
        Value("effect size", "Effect size", "+.2f", wide=True),
        Value("difference", "p", "p", show="p", wide=True),
        Value("difference", f"p {correction}", "p", show="p_adjusted"),
        Value("Student's t", "p Student's t", "p", show="p", wide=True),
        Value("difference", "Queries", ",", show="count", wide=True),
    ]


def comparison_question(
    by: Sequence[str],
    where: str,
    question: str,
    subject: str,
    *,
    good: bool,
    advice: str,
    correction: str = "Holm",
    counted: str = "queries",
) -> Question:
    """Return the question that comparisons decide, chosen by ``where``; the rest is as of
    ``_answers``.
    """
    return Question(
        by=by,
        where=where,
        statistics=["difference"],
        question=question,
        subject=subject,
        answers=_answers(good=good, advice=advice),
        effect=["{difference:+.3f} {measure}"],
        basis=[
            "{candidate mean:.3f} against {baseline mean:.3f}",
            f"{correction} p {{difference.p_adjusted:p}}",
            f"{{difference.count:,}} {counted}",
        ],
    )


def _answers(*, good: bool, advice: str) -> dict[str, Answer]:
    """Return the meaning of a comparison's answers; ``good`` says whether higher is good news,
    ``advice`` is what to do where the news is bad.
    """

    def decided(answered: Answered, words: str, welcome: bool) -> Answer:
        more = () if welcome else (advice,)
        return Answer(answered=answered, words=words, welcome=welcome, advice=more)

    def open_(words: str, *more: str) -> Answer:
        return Answer(answered=Answered.UNKNOWN, words=words, advice=more)

    return {
        Compared.HIGHER: decided(Answered.YES, "Significantly higher", good),
        Compared.LOWER: decided(Answered.NO, "Significantly lower", not good),
        Compared.NONE: open_("No significant difference"),
        Compared.UNTESTED: open_("No test"),
        Compared.UNFINISHED: open_("Training not finished", TRAIN_LONGER),
        Compared.IDLE: open_("Leaves the first stage's order", IDLE),
    }


def comparison_text(record: Record, correction: str = "Holm") -> str:
    """Return a comparison's difference with its interval, queries and p."""
    row = record.rows["difference"]
    p = f"{correction} p {{difference.p_adjusted:p}}"
    sure = "no test" if row.p_adjusted != row.p_adjusted else p
    few = "; two trainings have no interval" if row.trainings == 2 else ""
    return said(
        f"{{difference:+.3f}} over {{difference.count:,}} {row.counted} ({sure}{few})", record
    )


PLAN = RowTable(
    name="plan",
    title="The plan",
    stub={"label": "Step"},
    cells=[
        Value("seconds", "State", show="answer"),
        Value("seconds", "About", show="time"),
    ],
    notes=["Times are estimates from finished steps; a training may stop early."],
)


def _planned(rows: DataFrame) -> list[str]:
    """Return how many steps are to be made, and about how long that takes."""
    left = rows[rows["answer"] != "done before"]["value"]
    known = left.dropna()
    unknown = len(left) - len(known)
    parts = [f"{len(left)} of {len(rows)} steps to be made"]
    parts += [f"about {shown_time(known.sum())}"] if len(known) else []
    parts += [f"without {unknown} that are like no finished step"] if len(known) and unknown else []
    return [f"{', '.join(parts)}; nothing was written."]


def _with_times(rows: DataFrame) -> DataFrame:
    times = [
        "" if row.answer == "done before" else shown_time(row.value) if row.value >= 0 else "?"
        for row in rows.itertuples()
    ]
    return rows.assign(time=times)


SHOWN = Presentation(study="plan", prepare=_with_times, headline=_planned, sections=[], text=[PLAN])
