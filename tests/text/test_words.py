"""Words and their offsets: whatever the text, the offsets are sound, and the words are BlingFire's
own.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import blingfire
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import DependencyError
from positionbias.text import splitter, words
from positionbias.text.clusters import has_unspaced
from positionbias.text.words import (
    WORD_METHODS,
    sentence_places,
    sentence_starts,
    split_words,
    tokenize,
    word_spans,
)

# the characters that have broken offsets elsewhere: several bytes, no width, joined, directional,
# separators, NUL
AWKWARD = (
    "abAB 12.,'-’\t\n\u00a0\u3000\u200b\ufeffé\u0301日本ไท😀\u200d\U0001f469\x00\x85\u2028\u202e▁"
)
texts = st.one_of(st.text(), st.text(alphabet=st.sampled_from(AWKWARD), max_size=40))
with_surrogates = st.text(
    alphabet=st.one_of(st.characters(), st.characters(categories=["Cs"])), max_size=20
)


@pytest.mark.parametrize("method", WORD_METHODS)
@given(text=texts | with_surrogates)
def test_spans_rise_never_overlap_and_hold_no_white_space(text: str, method: Any) -> None:
    last = 0
    for start, end in word_spans(text, method):
        assert last <= start < end <= len(text)
        assert not any(character.isspace() for character in text[start:end])
        last = end


@given(texts.filter(lambda text: not has_unspaced(text)))
def test_words_are_those_of_blingfire_itself(text: str) -> None:
    joined = blingfire.text_to_words(text)
    assert tokenize(text) == (joined.split(" ") if joined else [])


@given(texts.filter(lambda text: not has_unspaced(text)))
def test_white_space_words_are_those_of_split(text: str) -> None:
    assert tokenize(text, "whitespace") == text.split()


@given(texts | with_surrogates)
def test_sentences_start_in_the_text_and_in_order(text: str) -> None:
    starts = sentence_starts(text)
    assert starts == sorted(set(starts))
    # BlingFire counts U+2028 and its like as part of a sentence, so only plain white space is sure
    # to be skipped
    assert all(0 <= start < len(text) and text[start] not in " \t\n" for start in starts)


def test_offsets_count_characters_not_bytes() -> None:
    # é is two bytes, 日 and 本 three, 😀 four: offsets in bytes would be 6, 9 and so on
    assert word_spans("café 日本 😀!") == [(0, 4), (5, 6), (6, 7), (8, 9), (9, 10)]


@pytest.mark.parametrize("method", WORD_METHODS)
@given(text=texts | with_surrogates)
def test_words_and_offsets_at_once_are_the_same(text: str, method: Any) -> None:
    words, starts, ends = split_words(text, method)
    assert words == tokenize(text, method)
    assert list(zip(starts, ends, strict=True)) == word_spans(text, method)


def test_sentences_by_hand() -> None:
    assert sentence_starts("  One lamp. Two gates!  Three") == [2, 12, 24]


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("ร้านเปิดเก้าโมง ปิด", "ร้|า|น|เ|ปิ|ด|เ|ก้|า|โ|ม|ง|ปิ|ด"),
        ("ຮ້ານເປີດ", "ຮ້|າ|ນ|ເ|ປີ|ດ"),
        ("ភាសាខ្មែរ។", "ភា|សា|ខ្មែ|រ|។"),
        ("မြန်မာ", "မြ|န်|မ|ာ"),
        ("བོད་སྐད།", "བོ|ད|་|སྐ|ད|།"),
        ("他在2019年去了Google公司。", "他|在|2019|年|去|了|Google|公|司|。"),
        ("データ、か\u3099き", "デ|ー|タ|、|か\u3099|き"),
        ("𠀀𠀁 한국어 naïve", "𠀀|𠀁|한국어|naïve"),
    ],
)
def test_words_of_scripts_without_spaces_are_clusters(text: str, split: str) -> None:
    assert tokenize(text) == split_words(text).words == split.split("|")
    assert words.word_count(text) == len(split.split("|"))
    joined = "".join(split.split("|"))
    assert "".join(tokenize(text, "whitespace")) == "".join(tokenize(text, "unicode")) == joined


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("今天晴。明天雨！「后天呢？」他说。", [0, 4, 8, 14]),
        ("वह आया। वह गया॥ ठीक", [0, 8, 16]),
        ("هل جاء؟ نعم. انتهى", [0, 8, 13]),
        ("وہ آیا۔ وہ گیا۔", [0, 8]),
        ("ሰላም። ነው", [0, 5]),
        ("ဒီနေ့ မိုးရွာတယ်။ မနက်ဖြန်", [0, 18]),
        ("ថ្ងៃនេះ។ ស្អែក", [0, 9]),
        ("one came. two left! (three?) four", [0, 10, 20, 29]),
        ("One came. two left! (three?) four", [0]),  # a text with capitals: as BlingFire splits it
        ("3.5 of it", [0]),
        ("ร้านเปิดเก้าโมง ปิดหกโมง", [0]),
    ],
)
def test_sentences_end_at_the_marks_of_other_scripts_and_without_capitals_at_any_stop(
    text: str, starts: list[int]
) -> None:
    assert sentence_starts(text) == starts
    assert list(sentence_places(text.encode())) == [len(text[:start].encode()) for start in starts]


SAID = [
    "Dr. Harrison came.",
    "J. A. Hobson left.",
    "It fell by 3.5 points!",
    "Why?",
    '"Go," he said.',
    "日本語 is Japanese.",
    "e.g. No. 5",
    "\x00",
    "U.S. law",
    "é",
]


@given(st.lists(st.sampled_from(SAID), min_size=20, max_size=200), st.integers(40, 400))
def test_a_long_text_has_the_same_sentences_piece_by_piece(said: list[str], size: int) -> None:
    data = " ".join(said).encode()
    whole = list(sentence_places(data))
    assert list(sentence_places(data, size)) == whole


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u3000"])
def test_blank_text_has_no_words_and_no_sentences(text: str) -> None:
    assert word_spans(text) == word_spans(text, "whitespace") == sentence_starts(text) == []


def test_a_long_text_keeps_its_offsets() -> None:
    text = " ".join(f"wörd{number}" for number in range(50_000))
    spans = word_spans(text)
    assert len(spans) == 50_000
    start, end = spans[-1]
    assert text[start:end] == "wörd49999"


def test_threads_do_not_write_into_each_others_buffers() -> None:
    texts = [" ".join(f"w{number}" for number in range(count)) for count in range(1, 200)]
    expected = [tokenize(text, "whitespace") for text in texts]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            assert list(pool.map(tokenize, texts)) == expected


def test_a_machine_for_which_blingfire_has_no_library_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(words, "load_blingfire", lambda: "libblingfiretokdll.so: wrong ELF class")
    with pytest.raises(
        DependencyError,
        match=r"^--words blingfire: .*x86-64; found .* here \(lib.*class\); give --words unicode$",
    ):
        words.words_function()


@pytest.mark.parametrize("fault", [OSError("no such file"), ModuleNotFoundError("blingfire"), None])
def test_whatever_keeps_blingfire_from_loading_is_a_reason(
    fault: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Spec:
        submodule_search_locations: ClassVar = ["/nowhere"]

    def find_spec(name: str) -> Any:
        if isinstance(fault, ImportError):
            raise fault
        return Spec() if fault else None

    monkeypatch.setattr(splitter, "find_spec", find_spec)
    assert isinstance(splitter.load_blingfire.__wrapped__(), str)
