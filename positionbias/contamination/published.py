"""Every figure of the paper on contaminated distillation, Tables 1 and 2, with its place, for comparison with ours.

Only a target whose split has one of three names, in a merged collection after a prefix, has figures.
Marks of significance are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from positionbias.results.published import PublishedCell
from positionbias.results.result import Facts

__all__ = ["CELLS", "PAPER", "PRETRAINED", "TARGETS", "target_of"]

PAPER = "Training on the Test Model: Contamination in Ranking Distillation (2024)"
TARGETS = {
    "dl19": "Deep Learning 2019",
    "dl20": "Deep Learning 2020",
    "covid": "TREC COVID",
}  # a split's name → its name in Table 1
PRETRAINED = {"bert_cat": "ELECTRA", "bert_dot": "BERT"}

_MEASURES = {"nDCG@10": "nDCG@10", "MAP": "AP(rel=2)", "R@100": "R(rel=2)@100"}
_MODELS = {"Cross-En.": "bert_cat", "Bi-En.": "bert_dot"}
_LOSSES = {"LCE": "lce", "MarginMSE": "margin_mse", "KL Div.": "kl", "RankNet": "ranknet"}

# model (none: the teacher, a cross-encoder) | loss, * contaminated | for each target: nDCG@10, MAP, R@100
_TABLE_1 = """
          | LCE        | 0.701 0.457 0.626 | 0.700 0.486 0.719 | 0.590 0.161 0.147
          | LCE*       | 0.740 0.509 0.654 | 0.688 0.412 0.584 | 0.746 0.093 0.143
Cross-En. | MarginMSE  | 0.712 0.470 0.622 | 0.719 0.492 0.731 | 0.610 0.160 0.146
Cross-En. | MarginMSE* | 0.728 0.495 0.639 | 0.719 0.494 0.729 | 0.690 0.088 0.143
Cross-En. | KL Div.    | 0.704 0.464 0.628 | 0.704 0.480 0.724 | 0.606 0.161 0.147
Cross-En. | KL Div.*   | 0.707 0.471 0.628 | 0.713 0.491 0.723 | 0.657 0.084 0.143
Cross-En. | RankNet    | 0.698 0.458 0.605 | 0.705 0.484 0.723 | 0.604 0.163 0.150
Cross-En. | RankNet*   | 0.715 0.492 0.632 | 0.686 0.471 0.712 | 0.718 0.091 0.143
Bi-En.    | MarginMSE* | 0.682 0.424 0.554 | 0.637 0.425 0.685 | 0.674 0.166 0.144
Bi-En.    | KL Div.*   | 0.665 0.405 0.549 | 0.657 0.442 0.691 | 0.672 0.081 0.143
Bi-En.    | RankNet*   | 0.670 0.433 0.582 | 0.633 0.408 0.692 | 0.685 0.172 0.154
"""
# source | nDCG@10 of the cross-encoder that was trained by KL divergence, on each target
_TABLE_2 = """
None               | 0.704 0.704 0.606
Deep Learning 2019 | 0.707 0.725 0.612
Deep Learning 2020 | 0.717 0.713 0.623
COVID              | 0.717 0.712 0.657
"""
_SOURCES = {
    "None": "",
    "Deep Learning 2019": "Deep Learning 2019",
    "Deep Learning 2020": "Deep Learning 2020",
    "COVID": "TREC COVID",
}
_COLUMNS_2 = dict(zip(TARGETS.values(), ("DL2019", "DL2020", "COVID"), strict=True))


def target_of(split: str) -> str | None:
    """Return the paper's test collection by a split's name, in a merged collection after a prefix; None for any other.

    >>> target_of("msm.dl19"), target_of("validation")
    ('Deep Learning 2019', None)
    """
    return TARGETS.get(split.rpartition(".")[2])


def _facts(role: str, model: str, loss: str, source: str) -> Facts:
    """The facts of a cell; with a source, of a whole test collection."""
    return Facts(model=model, role=role, loss=loss, source=source, share=1.0 if source else None)


def _rows(text: str) -> Iterator[list[str]]:
    return ([part.strip() for part in line.split("|")] for line in text.strip("\n").splitlines())


def _table_1() -> Iterator[PublishedCell]:
    for model, loss, *groups in _rows(_TABLE_1):
        name = loss.rstrip("*")
        for target, group in zip(TARGETS.values(), groups, strict=True):
            source = target if loss != name else ""
            facts = _facts("student" if model else "teacher", _MODELS.get(model, "bert_cat"), _LOSSES[name], source)
            for (column, measure), figure in zip(_MEASURES.items(), group.split(), strict=True):
                row = f"{f'{model}, ' if model else ''}{name}{' contaminated' if source else ''}"
                yield PublishedCell(1, target, measure, float(figure), f"Table 1, {row} row, {target}, {column}", facts=facts)


def _table_2() -> Iterator[PublishedCell]:
    for row, figures in _rows(_TABLE_2):
        for (target, column), figure in zip(_COLUMNS_2.items(), figures.split(), strict=True):
            facts = _facts("student", "bert_cat", "kl", _SOURCES[row])
            yield PublishedCell(2, target, "nDCG@10", float(figure), f"Table 2, {row} row, {column}", facts=facts)


CELLS: tuple[PublishedCell, ...] = (*_table_1(), *_table_2())
