"""A test of whether a model has seen the test set that it is measured on."""

from __future__ import annotations

from positionbias.contamination.settings import Suspects, SuspectSettings
from positionbias.core.outcome import Measurements, refuse_outputs, save_if_asked
from positionbias.core.shared_settings import Overwrite, SavedTo, Source
from positionbias.ops.operation import operation
from positionbias.ranking.config import Computing


@operation
def suspect_contamination(
    collection: Source,
    *,
    suspects: Suspects,
    computing: Computing = Computing(),
    settings: SuspectSettings = SuspectSettings(),
    out: SavedTo = None,
    overwrite: Overwrite = False,
) -> Measurements:
    """Test whether a model is suspiciously good on the test queries of ``collection`` that
    everybody has.

    Its advantage over controls, clean trainings of the same architecture and settings, is compared
    with that on judged queries which it cannot have seen. The excess is tested against how far
    clean trainings differ by chance, with Holm's correction over all models of the call.

    The answer is suspicious, not suspicious (an excess of 0.05 lies outside the interval), or
    cannot tell: with fewer than two controls, without spread, or where too little is known. How
    often the call is wrong, and what it would find, is simulated and printed.

        posbias import planted --set fresh_queries=2000 --out p
        posbias retrieve p --split test --depth 10 --out test.run
        posbias retrieve p --split fresh --depth 10 --out fresh.run
        posbias contamination suspect p --model m.ckpt --fresh fresh \\
                --candidates test.run --candidates fresh.run \\
          --control c1.ckpt --control c2.ckpt --control c3.ckpt

    Returns:
        Rows: the answer about each model with its error rates, and the means of each system with
        its values by query.

    Raises:
        SettingError: two systems of one name, a model without candidates, or a measure that does
            not exist.
        InputError: a run of other queries or passages, or a malformed file.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import Suspects
        >>> suspects = Suspects(
        ...     models=["tk.ckpt"],
        ...     controls=["tk-2.ckpt", "tk-3.ckpt"],
        ...     candidates=["test.run", "fresh.run"],
        ...     fresh="fresh",
        ... )
        >>> print(pb.suspect_contamination("planted", suspects=suspects))
        Cannot tell whether tk saw test: over its 2 controls it gains ...
        ...
    """
    from positionbias.contamination.suspect import suspect_systems

    refuse_outputs(out, overwrite=overwrite)
    measured = suspect_systems(collection, suspects, computing, settings)
    return save_if_asked(measured, out, overwrite=overwrite)
