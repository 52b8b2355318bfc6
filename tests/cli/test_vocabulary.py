"""One vocabulary: an option means the same, and takes the same, in every command that has it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

import click

from positionbias.cli.main import posbias

# Options whose values differ between commands, and why. A key before a value (SPLIT=RUN), and being
# given again, are no difference.
TAKES_DIFFERENT = {
    "--loss": "a study trains by several, each with its group size and part of the steps",
    "--out": "a folder, a file, or a pipe, as the command writes it",
    "--source": (
        "a split of one collection, the place of a split of any, or the name of one that was found "
        "in"
    ),
    "--test": "a file of a release, or a test set in any form",
}
# Options whose help differs, with a word of each meaning that every help of the option has to hold.
MEANS = {
    "--remedy": "remedy",
    "--answers-in": "start",
    "--candidates": "re-rank|negatives|BM25's|to score",
    "--collection": "passages of|whose",
    "--contaminate": "train on|contaminat",
    "--depth": "candidates|passages|pool|down",
    "--detector": "lexical|looks",
    "--dimension": "width|principal components",
    "--encoder": "encode|start from",
    "--epochs": "passes over the training groups",
    "--leakage": "leak",
    "--leaked-queries": "leak|near-duplicate",
    "--loss": "hinge|loss",
    "--measure": "as ir_measures names it",
    "--model": "^(a|the) (checkpoint|model|teacher)[ :;,]|vectors were made by",
    "--name": "tag|called",
    "--negatives": "negatives|clicked",
    "--out": "write|save|rotated|sheet",
    "--pairs": "pairs|leak",
    "--passages": "passages in all|total number of passages",
    "--positions": "positions|place",
    "--probe-passages": "probe|MATS",
    "--qrels": "judgements",
    "--queries": "queries|those that fit",
    "--quick": "small",
    "--relevant-from": "grade",
    "--score": "score|similar|threshold",
    "--size": "two (a|per) query",
    "--source": "training queries|sources",
    "--split": "split|quer",
    "--systems": "run, group and kind",
    "--target": "test queries",
    "--test": "test",
    "--test-split": "test",
    "--threshold": "score|cosine",
    "--trainset": "training (set|groups)",
    "--validation-queries": "validation",
    "--vectors": "vectors",
    "--word-vectors": "vectors",
    "--workers": "processes",
}


def commands(
    command: click.Command = posbias, context: click.Context | None = None
) -> Iterator[tuple[str, click.Command]]:
    """Every command that is no group, by its words."""
    context = context or click.Context(posbias, info_name="posbias")
    if not isinstance(command, click.Group):
        yield context.command_path, command
        return
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from commands(below, click.Context(below, info_name=name, parent=context))


def options() -> Mapping[str, Mapping[str, click.Option]]:
    """The options by their flag, each by its command."""
    found: dict[str, dict[str, click.Option]] = defaultdict(dict)
    for words, command in commands():
        for one in command.params:
            if isinstance(one, click.Option):
                found[max(one.opts, key=len)][words] = one
    return found


OPTIONS = options()


def takes(option: click.Option) -> str:
    """What an option takes: nothing, one of some names, or a number or text, with the word that
    stands for it in the help.
    """
    if option.is_flag:
        return "nothing"
    if isinstance(option.type, click.Choice):
        return f"one of {', '.join(option.type.choices)}"
    named = re.sub(r"^\[?[A-Z]+=\]?|\[:[A-Z]+\]$", "", option.metavar or "")
    kinds = {
        click.types.IntParamType: "whole number",
        click.types.FloatParamType: "number",
        click.Tuple: "several",
    }
    kind = next((name for of, name in kinds.items() if isinstance(option.type, of)), "text")
    return f"{kind} {named}"


def meaning(option: click.Option) -> str:
    """The help of an option, without its default and its choices."""
    return re.split(r" \[default| One of: ", option.help or "")[0]


def faults(flag: str, options: Mapping[str, click.Option]) -> Iterator[str]:
    """What is wrong with an option, given by command."""
    taken = defaultdict(list)
    for words, option in options.items():
        taken[takes(option)].append(words)
    if flag in TAKES_DIFFERENT and len(taken) == 1:
        yield f"{flag} takes the same everywhere: drop it from TAKES_DIFFERENT"
    if flag not in TAKES_DIFFERENT and len(taken) > 1:
        yield f"{flag} takes different values, give one of them another name: {dict(taken)}"
    helps = {meaning(option): words for words, option in options.items()}
    if flag not in MEANS and len(helps) > 1:
        yield f"{flag}: share the declaration, or say its one meaning in MEANS: {helps}"
    for text, words in helps.items():
        if not re.search(MEANS.get(flag, ""), text, re.IGNORECASE):
            yield f"{words} {flag} means something else: {text}"


def test_an_option_takes_and_means_the_same_everywhere() -> None:
    assert [fault for flag, options in OPTIONS.items() for fault in faults(flag, options)] == []


def test_the_tables_name_options_that_there_are() -> None:
    assert sorted({*MEANS, *TAKES_DIFFERENT} - set(OPTIONS)) == []


def test_a_flag_in_short_is_of_one_option() -> None:
    short = defaultdict(set)
    for flag, by_command in OPTIONS.items():
        for option in by_command.values():
            for other in option.opts:
                if other != flag:
                    short[other].add(flag)
    assert {name: flags for name, flags in short.items() if len(flags) > 1} == {}


def test_no_two_options_have_one_meaning() -> None:
    """What reads the same has one name."""
    flags = defaultdict(set)
    for flag, by_command in OPTIONS.items():
        for option in by_command.values():
            flags[meaning(option)].add(flag)
    assert {text: sorted(found) for text, found in flags.items() if len(found) > 1} == {}
