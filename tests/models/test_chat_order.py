"""The order of passages in chat models' answers: the last list outside reasoning, or none."""

from __future__ import annotations

import time

import pytest

from positionbias.models.chat_order import order_in, without_reasoning

# all of these order three passages as 3, 1, 2
ORDERS = [
    "[3] > [1] > [2]",
    "[3, 1, 2]",
    "3 > 1 > 2",
    "3 1 2",
    "3, 1, 2",
    "3\n1\n2",
    "1. [3]\n2. [1]\n3. [2]",
    "1. 3\n2. 1\n3. 2",
    "1) Passage 3\n2) Passage 1\n3) Passage 2",
    "Here is the order of passages [1] to [3]:\n[3] > [1] > [2]",
    "Passage [1] does not speak of it at all. So the order is:\n[3] > [1] > [2]",
    "[3] > [1] > [2]\n\nPassage [1] stands low, as it says little.",
    "[3] > [1] > [2]\n\nPassages [1] and [2] are low.",
    "[3] > [1] > [2]\n\nPassages [1], [2] and [3] are fine.",
    "[1] > [2] > [3]\nNo, wait:\n[3] > [1] > [2]",
    "<think>[1] > [2] > [3]</think>\n[3] > [1] > [2]",
    "[1] > [2] > [3]</think>\n[3] > [1] > [2]",
    "<thinking>\n[1] > [2]\n</thinking> 3 > 1 > 2",
    "<|START_THINKING|>[1] > [2]<|END_THINKING|><|START_RESPONSE|>[3] > [1] > [2]<|END_RESPONSE|>",
    (
        "<|channel|>analysis<|message|>[1] > [2] > "
        "[3]<|end|><|start|>assistant<|channel|>final<|message|>[3] > [1] > [2]<|return|>"
    ),
    "[THINK]1 > 2 > 3[/THINK][3, 1, 2]",
    "◁think▷1 > 2 > 3◁/think▷[3, 1, 2]",
    "```json\n[3, 1, 2]\n```",
    "```json\n[\n  3,\n  1,\n  2\n]\n```",
    "Sure! Here it is:\n```json\n[\n  3,\n  1,\n  2\n]\n```\nHope this helps.",
    '{"reasoning": "[1] > [2] > [3] seems off", "ranking": [3, 1, 2]}',
    '{"ranking": [3, 1, 2], "reasoning": "passage 1 is 2nd, 3 > 2"}',
    '{"ranking": "[3] > [1] > [2]"}',
    '["[3]", "[1]", "[2]"]',
    '["3","1","2"]',
    '[{"id": 3, "score": 0.9}, {"id": 1, "score": 0.3}, {"id": 2, "score": 0.1}]',
    (
        '{"results":[{"rank":1,"passage":"[3]"},{"rank":2,"passage":"[1]"},{"rank":3,"passage":'
        '"[2]"}]}'
    ),
    "**[3]** > **[1]** > **[2]**",
    "[3] ≻ [1] ≻ [2]",
    "[3] &gt; [1] &gt; [2]",
    "The order is [3], [1], [2].",
    "Final ranking: 3, 1, 2",
    "[3][1][2]",
    "[3] [1] [2]",
    "[3] >\n[1] >\n[2]",
    "Passage 3 > Passage 1 > Passage 2",
    "Rank 1: [3]\nRank 2: [1]\nRank 3: [2]",
    "1. [3] – tells of otters\n2. [1] – names them\n3. [2] – says nothing",
    "1. Passage [3]: tells of otters\n2. Passage [1]: names 4 of them\n3. Passage [2]: nothing",
    "[3] > [9] > [1] > [2]",
    "- [3]\n- [1]\n- [2]",
    "* 3\n* 1\n* 2",
    "排序结果：[3] > [1] > [2]",
    "段落3 > 段落1 > 段落2",
    "Ordre : [3] > [1] > [2]\nVoilà.",
    "(3) > (1) > (2)",
    "[3] > [1] > [2] (as [2] is off topic, [1] is next)",
    "[03] > [01] > [02]",
    "1st: [3]\n2nd: [1]\n3rd: [2]",
    "[3]>[1]>[2]<|im_end|>",
    "<analysis>[1] > [2] > [3]</analysis>\n<answer>[3] > [1] > [2]</answer>",
    "<answer>[3, 1, 2]</answer>",
    "\\boxed{[3] > [1] > [2]}",
    "\\boxed{3, 1, 2}",
    "Answer: `[3] > [1] > [2]`",
    '[{"id": 1, "rank": 2}, {"id": 2, "rank": 3}, {"id": 3, "rank": 1}]',
    '[{"passage": 1, "score": 7}, {"passage": 2, "score": 1}, {"passage": 3, "score": 9.5}]',
    '{"order": [3, 1, 2], "scores": [3, 2, 1]}',
    'Here it is: {"order": [3, 1, 2], "relevance_scores": [3, 2, 1]}',
    "[3] > [1] > [2]\nScores: 3, 2, 1",
    "[3] > [1] = [2]",
]
# none of these gives an order of three passages that can be told from another
UNREADABLE = [
    "<think>[1] > [2] > [3]",
    "[3] > [1] > [2]\n\nReasons:\n1. [1] says little\n2. [2] nothing\n3. [3] tells all",
    "Draft: [1] > [2] > [3].\nFinal ranking:\n1. [3] – tells\n2. [1] – names\n3. [2] – no",
    "[1] says nothing\n[2] says much\n[3] says little",
    "1. The lamp\n2. The gate\n3. The hall",
    "I am sorry, I cannot help with that.",
    "",
    "In 2024, 3 lamps were lit.",
    "I considered 1, 2 and 3.",
    "1: 3, 2: 1, 3: 2",
    "[2] > [0] > [1]",
    "[3] > [1] > [2]\n\n3\n2\n1",
    "[[3, 3], [1, 2], [2, 1]]",
]


@pytest.mark.parametrize("answer", ORDERS)
def test_orders(answer: str) -> None:
    assert order_in(answer, 3) == [2, 0, 1]


@pytest.mark.parametrize("answer", UNREADABLE)
def test_unreadable(answer: str) -> None:
    assert order_in(answer, 3) == []


def test_a_partial_list_is_not_completed_by_a_draft() -> None:
    assert order_in("[1] > [2] > [3]\nNo, wait:\n[3] > [1]", 3) == [2, 0]
    assert order_in("[2]", 3) == [1]


def test_a_long_answer_is_read_in_time() -> None:
    began = time.monotonic()
    for piece in ("<think>", "[1] > ", "1. [1] x\n", "x: ", "[[[[", "1, "):
        order_in(piece * 50_000, 3)
    assert time.monotonic() - began < 60  # a fault would take hours
    assert without_reasoning("<think>" * 50_000 + "</think> 1 > 2") == "1 > 2"
