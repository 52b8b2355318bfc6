"""Rotate a passage: cut it at a random word and exchange its two parts (position-bias paper, Eq.
7).

With n words and r drawn uniformly from {1 … n}, the new passage is words r … n, then words 1 … r−1.
The raw text is sliced at the character offset of word r and joined by one space, so every character
survives [our decision; the paper's code re-joins tokens]. r = 1 leaves the passage unchanged, with
probability 1/n.

Splitting the rotated text into words gives the same words in the new order, except for a few cuts
beside an abbreviation ("U.S.") or before a clitic ("'s"): under 1 % of SQuAD's paragraphs. Scripts
without spaces are split into extended grapheme clusters (``text.clusters``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from numbers import Integral
from typing import Any, Literal, overload

from positionbias.core.errors import InputError, bad_input, check_type
from positionbias.core.records import identifier
from positionbias.core.seeds import below, text_id
from positionbias.core.settings import Seed, check_settings, setting
from positionbias.text.splitter import USUAL_WORDS
from positionbias.text.words import (
    WORD_METHODS,
    WORDS_HELP,
    WordMethod,
    sentence_starts,
    word_spans,
)

Mode = Literal["words", "sentences"]
MODES: tuple[Mode, ...] = ("words", "sentences")
PURPOSE = "rotate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """Settings of a rotation.

    ``words`` defines a word; ``mode`` "sentences" cuts at sentence starts only (the paper's
    rejected pilot; sentences are always BlingFire's); ``identity`` False draws r from {2 … n}, so
    that every passage of two or more words changes.

    Raises:
        SettingError: an unknown method or mode, or a negative seed.
    """

    words: WordMethod = setting(USUAL_WORDS, WORDS_HELP, choices=WORD_METHODS)
    mode: Mode = setting(
        "words",
        "Where a passage may be cut: before any word, or before any sentence (the paper's rejected "
        "pilot).",
        choices=MODES,
    )
    identity: bool = setting(
        True,
        "Let a draw leave a passage as it is, one in as many as it has words.",
        shown=False,
    )
    seed: Seed = 1

    def __post_init__(self) -> None:
        check_settings(self)
        check_type("--seed", self.seed, Integral, "a whole number")  # type: ignore[type-abstract]
        check_type("--identity", self.identity, bool, "True or False")

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the decisions behind a rotation, as manifests repeat them."""
        unit = "sentence" if self.mode == "sentences" else "word"
        first = "1" if self.identity else "2"
        return (
            f"Each passage is cut once before {unit} r and its two parts change places "
            "(position-bias paper, Eq. 7); r is drawn uniformly from "
            f"{{{first} … n}} by (seed, passage id) alone.",
            "The raw text is sliced and joined by one space, so that every character survives.",
            "Answer spans moved with the text; cut spans are dropped and counted.",
        )

    def cut(self, text: str, *key: str | int, purpose: str = PURPOSE) -> int:
        """Draw the character offset at which ``text`` is cut; 0: no cut. Stored passages use their
        id alone as ``key``.
        """
        return self.cut_among(unit_starts(text, self.words, self.mode), *key, purpose=purpose)

    def cut_among(self, starts: list[int], *key: str | int, purpose: str = PURPOSE) -> int:
        """Return ``draw_cut`` under these settings, for a text with known words (or sentences)."""
        return draw_cut(starts, *key, seed=self.seed, purpose=purpose, identity=self.identity)

    def apply(self, text: str, *key: str | int, purpose: str = PURPOSE) -> str:
        """Return the text rotated under these settings."""
        return rotate_at(text, self.cut(text, *key, purpose=purpose))


@dataclass(frozen=True, slots=True)
class Rotate(Rotation):
    """Rotate the texts of examples, in ``datasets.Dataset.map`` (batched or not) or as a transform
    of a torch ``Dataset``.

    An example is a dict with the text at ``column``; its id at ``id_column`` keys the draw. Without
    an id, the text's hash does, which is the id that ``import_table`` gives it
    [decision]; so ``debias`` rotates the same texts alike. Called with a text and its id, it
    returns the rotated text. Other settings are those of ``Rotation``: ``seed``, ``words``,
    ``mode`` and ``identity``.

    Raises:
        SettingError: an unknown method or mode, or a negative seed.

    Example:
        >>> import positionbias as pb
        >>> import datasets
        >>> data = datasets.Dataset.from_dict({"pid": ["p1"], "passage": ["one two three four"]})
        >>> data.map(pb.Rotate("passage", id_column="pid"))[0]
        {'pid': 'p1', 'passage': 'two three four one '}
        >>> pb.Rotate(seed=1)("one two three four", "p1")
        'two three four one '
    """

    column: str = "text"
    id_column: str | None = None

    def __post_init__(self) -> None:
        Rotation.__post_init__(self)
        check_type("column", self.column, str, "a text")
        check_type("id_column", self.id_column, str | None, "a text")

    @overload
    def __call__(self, given: str, passage_id: str | int | None = None) -> str: ...
    @overload
    def __call__(self, given: Mapping[str, Any]) -> dict[str, Any]: ...
    def __call__(self, given: Any, passage_id: str | int | None = None) -> Any:
        """Return a text, an example, or a batch of examples (lists in its columns) with the texts
        rotated; None stays.

        Raises:
            InputError: a missing column, a text that is not a string, or an id that is neither text
                nor a whole number.
        """
        if isinstance(given, str):
            return self._rotated(given, passage_id)
        if not isinstance(given, Mapping):
            raise _no_text(given)
        for column in filter(None, (self.column, self.id_column)):
            if column not in given:
                raise bad_input(
                    "Rotate",
                    wanted=f"a column {column!r}",
                    found=", ".join(given),
                    do="name the right one",
                )
        texts, ids = given[self.column], given[self.id_column] if self.id_column else None
        if texts is None or isinstance(texts, str):
            return {**given, self.column: self._rotated(texts, ids)}
        if not isinstance(texts, Iterable):
            raise _no_text(texts)
        return {
            **given,
            self.column: list(map(self._rotated, texts, repeat(None) if ids is None else ids)),
        }

    def _rotated(self, text: Any, passage_id: Any) -> Any:
        if text is None:
            return None
        if not isinstance(text, str):
            raise _no_text(text)
        return self.apply(
            text,
            text_id("p", text) if passage_id in (None, "") else identifier(passage_id, "Rotate"),
        )


def _no_text(value: object) -> InputError:
    return bad_input("Rotate", wanted="a text", found=repr(value), do="name the column of texts")


def rotate(
    text: str,
    passage_id: str,
    seed: int = 1,
    *,
    words: WordMethod = USUAL_WORDS,
    mode: Mode = "words",
    identity: bool = True,
) -> str:
    """Rotate one passage; the draw depends on (seed, passage id) alone.

    Empty, blank and one-word passages do not change.

    Args:
        text: The passage, of any length.
        passage_id: Its id, which keys the draw.
        seed: Random seed.
        words: How text is split into words; a passage may be cut between two words.
        mode: Whether a passage is cut between words or between sentences.
        identity: Whether the draw may leave the passage unchanged.

    Returns:
        The text with both parts exchanged; every character is kept.

    Raises:
        InputError: a text that is not a string, an id that is neither text nor a whole number, or a
            seed of another type.
        SettingError: an unknown ``words`` or ``mode``, or a negative seed.

    Source: position-bias paper, §4.2.

    Example:
        >>> import positionbias as pb
        >>> pb.rotate("one two three four", passage_id="p1", seed=1)
        'two three four one '
    """
    check_type("rotate: text", text, str, "a text")
    settings = Rotation(words=words, mode=mode, identity=identity, seed=seed)
    return settings.apply(
        text, "" if passage_id == "" else identifier(passage_id, "rotate: passage_id")
    )


def found_cut(text: str, rotated: str) -> int | None:
    """Return the character offset at which ``text`` was cut to give ``rotated``, ignoring white
    space; 0: no cut; None: not a rotation.

    >>> [found_cut("one two", other) for other in ("two one", "one two", "two three")]
    [4, 0, None]
    """
    bare, turned = "".join(text.split()), "".join(rotated.split())
    if len(bare) != len(turned):
        return None
    place = (bare + bare).find(turned)
    if place <= 0:
        return None if place < 0 else 0
    return [offset for offset, character in enumerate(text) if not character.isspace()][place]


def draw_cut(
    starts: list[int], *key: str | int, seed: int, purpose: str = PURPOSE, identity: bool = True
) -> int:
    """Draw the cut among the starts of the words (or sentences); 0: no cut.

    The draw is keyed by (seed, purpose, key), so it is independent of order, shard, worker and
    other passages.
    """
    choices = len(starts)
    if choices < 2:
        return 0
    if identity:
        drawn = below(choices, seed, purpose, *key)
    else:
        drawn = 1 + below(choices - 1, seed, purpose, *key)
    # the first word may follow white space; r = 1 still means no cut
    return starts[drawn] if drawn else 0


def unit_starts(text: str, words: WordMethod = USUAL_WORDS, mode: Mode = "words") -> list[int]:
    """Return the character offset of every word (or sentence): the possible cuts.

    Raises:
        SettingError: an unknown ``words`` or ``mode``.
    """
    _check(words, mode)
    return (
        sentence_starts(text)
        if mode == "sentences"
        else [start for start, _ in word_spans(text, words)]
    )


def rotate_at(text: str, cut: int) -> str:
    """Return ``text[cut:] + " " + text[:cut]``; a cut of 0 leaves the text unchanged.

    >>> rotate_at("one two three", 4)
    'two three one '
    """
    return f"{text[cut:]} {text[:cut]}" if cut else text


def move_span(start: int, end: int, cut: int, length: int) -> tuple[int, int] | None:
    """Return the span ``[start, end)`` of a text of ``length`` characters after
    ``rotate_at(text, cut)``.

    None if the cut goes through the span.

    >>> move_span(4, 7, 4, 13), move_span(0, 3, 4, 13), move_span(0, 7, 4, 13)
    ((0, 3), (10, 13), None)
    """
    if not cut:
        return start, end
    if start >= cut:
        return start - cut, end - cut
    if end <= cut:
        moved = length - cut + 1
        return start + moved, end + moved
    return None


def _check(words: Any, mode: Any) -> None:
    Rotation(words=words, mode=mode)
