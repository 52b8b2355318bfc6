"""Test whether a model is suspiciously good on queries that it may have been trained on, compared
with queries that it cannot have seen.

A model's excess over clean trainings of its own configuration (``excess``) is tested on a measure.
The difficulty of paraphrases or fresh queries affects model and controls alike. All tests of a
call, over models and pairs of query sets, are one family (Holm). The excess in score margins of
judged documents (``margins``) is reported but not used for the answer, as a second test would cost
power [decision].

The answer is *suspicious* if a corrected p is at most alpha; *not suspicious* if the measure's
interval lies below ``MARGIN``; else *cannot tell*. It is also "cannot tell" with fewer than two
controls, with controls not known to be of the model's configuration, without any spread, and if
paraphrases show no excess, as they reveal memory of the wording only [decision].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from positionbias.contamination.contrast import Contrast, Measured, Values
from positionbias.contamination.error_rates import (
    EFFECTS,
    controls_wanted,
    in_turn,
    queries_wanted,
    simulated_rates,
)
from positionbias.contamination.excess import Tested, advantage, excess_of
from positionbias.contamination.settings import SuspectSettings
from positionbias.contamination.suspicion import (
    Answered,
    CleanInTurn,
    Compared,
    ErrorRates,
    Excess,
    Obstacle,
    Signal,
    Suspected,
    Suspicion,
    SystemMeans,
)
from positionbias.evaluation.clustered import family_wise

__all__ = ["MARGIN", "Known", "suspect"]

MARGIN = 0.05  # the smallest excess of interest, in the measure [decision]
_UNITS = {Signal.MARGIN: "deviations"}


@dataclass(frozen=True, slots=True)
class Known:
    """Models known to be clean: controls, and a bank of groups, each with two or more trainings of
    one configuration.
    """

    controls: Sequence[Measured] = ()
    bank: Sequence[Sequence[Measured]] = ()


@dataclass(slots=True)
class _Asked:
    """One model on one pair of query sets; ``tested`` is None if there is an obstacle."""

    model: Measured
    contrast: Contrast
    controls: list[Measured]
    unlike: list[Measured]
    obstacle: Obstacle | None
    tested: dict[Signal, Tested] = field(default_factory=dict)


def suspect(
    models: Sequence[Measured],
    known: Known,
    candidates: Measured,
    contrasts: Sequence[Contrast],
    settings: SuspectSettings,
) -> list[Compared]:
    """Return the answers about each model on each pair of query sets, with the systems' means."""
    asked = [[_ask(model, known, contrast, settings) for model in models] for contrast in contrasts]
    every = [question for part in asked for question in part]
    p_values = {
        str(place): question.tested[Signal.MEASURE].p()
        for place, question in enumerate(every)
        if question.tested
    }
    holm = family_wise(p_values)
    about = _About(settings, known, candidates, len(p_values))
    answers = iter([about.answer(question, holm.get(str(at))) for at, question in enumerate(every)])
    return [
        Compared([next(answers) for _ in models], list(about.systems(contrast, models)))
        for contrast in contrasts
    ]


def _ask(model: Measured, known: Known, contrast: Contrast, settings: SuspectSettings) -> _Asked:
    like, unlike = (
        [of for of in known.controls if _alike(model, of, settings) == wanted]
        for wanted in (True, False)
    )
    asked = _Asked(model, contrast, like, unlike, None)
    if len(like) < 2:
        differs = any(model.configuration.differs(of.configuration) for of in unlike)
        enough = Obstacle.UNLIKE if differs else Obstacle.UNDECLARED
        asked.obstacle = Obstacle.FEW if len(known.controls) < 2 else enough
        return asked
    for signal in Signal:
        controls, *bank = _groups((like, *known.bank), contrast, signal)
        if found := excess_of(_values(model, contrast, signal), controls, bank, contrast):
            asked.tested[signal] = found
    if Signal.MEASURE not in asked.tested:
        asked.obstacle, asked.tested = Obstacle.FLAT, {}
    return asked


def _alike(model: Measured, control: Measured, settings: SuspectSettings) -> bool:
    """Return True if a control is, as far as is known, a training of the model's configuration."""
    stated = model.configuration.stated and control.configuration.stated
    return not model.configuration.differs(control.configuration) and (
        stated or bool(settings.configuration)
    )


def _values(system: Measured, contrast: Contrast, signal: Signal) -> Values:
    return contrast.values(system.quality if signal == Signal.MEASURE else system.margins)


def _groups(
    groups: Sequence[Sequence[Measured]], contrast: Contrast, signal: Signal
) -> list[list[Values]]:
    return [[_values(of, contrast, signal) for of in group] for group in groups]


@dataclass(slots=True)
class _About:
    """The answers of a call."""

    settings: SuspectSettings
    known: Known
    candidates: Measured
    tests: int
    turns: dict[tuple[str, ...], CleanInTurn | None] = field(default_factory=dict)

    def answer(self, asked: _Asked, holm: float | None) -> Answered:
        corrected = {Signal.MEASURE: holm}
        excesses = [
            self._excess(signal, tested, corrected.get(signal))
            for signal, tested in asked.tested.items()
        ]
        found = replace(self._unanswered(asked), excesses=excesses)
        contrast, values = asked.contrast, self._advantage(asked)
        if excesses:
            answer, obstacle = self._answer(excesses[0], paired=contrast.paired)
            found = replace(found, answer=answer, obstacle=obstacle, rates=self._rates(asked))
        # several paraphrases count by their mean, under the public query's id
        others = contrast.seen if contrast.paired else [ids[0] for ids in contrast.others]
        seen, other = (
            dict(zip(ids, part.tolist(), strict=True))
            for ids, part in zip((contrast.seen, others), values, strict=True)
        )
        return Answered(asked.model.name, found, seen, other, values.difference)

    def _unanswered(self, asked: _Asked) -> Suspicion:
        contrast, bank = asked.contrast, self.known.bank
        return Suspicion(
            Suspected.UNKNOWN, asked.obstacle, contrast.seen_name, contrast.other_name,
            contrast.paired, len(contrast.seen),
            sum(map(len, contrast.others)), self.settings.alpha, MARGIN, self.tests,
            [of.name for of in asked.controls],
            [of.name for of in asked.unlike], len(bank), sum(map(len, bank)),
            self.settings.configuration, contrast.left_out or {},
        )  # fmt: skip

    def _answer(self, excess: Excess, *, paired: bool) -> tuple[Suspected, Obstacle | None]:
        if excess.p_holm is not None and excess.p_holm <= self.settings.alpha:
            return Suspected.YES, None
        if excess.high >= MARGIN:
            return Suspected.UNKNOWN, Obstacle.WIDE
        return (Suspected.UNKNOWN, Obstacle.WORDING) if paired else (Suspected.NO, None)

    def _excess(self, signal: Signal, tested: Tested, holm: float | None) -> Excess:
        half, alpha = tested.half_width(self.settings.alpha), self.settings.alpha
        return Excess(
            signal, _UNITS.get(signal, self.settings.measure), tested.value, tested.value - half,
            tested.value + half, 1 - 2 * alpha,
            tested.p_trainings(), tested.p_queries(), tested.p(), holm,
            float(np.sqrt(tested.among.variance)), float(tested.among.freedom),
        )  # fmt: skip

    def _rates(self, asked: _Asked) -> ErrorRates:
        level, measured = self.settings.alpha / self.tests, asked.tested[Signal.MEASURE]
        none, *power = simulated_rates(measured, level, (0.0, *EFFECTS), seed=self.settings.seed)
        wanted = controls_wanted(measured, level, MARGIN), queries_wanted(measured, level, MARGIN)
        return ErrorRates(level, none, EFFECTS, power, *wanted, self._in_turn(asked, level))

    def _in_turn(self, asked: _Asked, level: float) -> CleanInTurn | None:
        key = (asked.contrast.other_name, *(of.name for of in asked.controls))
        if key not in self.turns:
            groups = _groups((asked.controls, *self.known.bank), asked.contrast, Signal.MEASURE)
            self.turns[key] = in_turn(groups, asked.contrast, level, MARGIN)
        return self.turns[key]

    def _advantage(self, asked: _Asked) -> Values:
        """Return the advantage over the controls, or over the candidates' order."""
        reference = asked.controls or [self.candidates]
        values = [_values(of, asked.contrast, Signal.MEASURE) for of in (asked.model, *reference)]
        return advantage(values[0], values[1:])

    def systems(self, contrast: Contrast, models: Sequence[Measured]) -> Iterator[SystemMeans]:
        """Yield each system's means on both sets and their difference; the candidates' order shows
        which set is harder.
        """
        roles = [("model", model) for model in models]
        roles += [("control", control) for control in self.known.controls]
        for role, system in [*roles, ("candidates", self.candidates)]:
            values = _values(system, contrast, Signal.MEASURE)
            means = float(values.seen.mean()), float(values.other.mean())
            yield SystemMeans(system.name, role, *means, values.difference)
