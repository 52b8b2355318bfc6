"""Settings of a planted collection."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.core.settings import Seeded, check_settings, setting
from positionbias.planted.fresh import FRESH
from positionbias.planted.grammar import FIRST_NAMES, SECOND_NAMES
from positionbias.planted.leaks import MOST_PER_QUERY

DEFAULT_FRONT_LOADING = 0.7
MOST_ANSWERS = 9
THINGS = len(FIRST_NAMES) * len(SECOND_NAMES)
MOST_QUERIES = THINGS // 2
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, slots=True)
class PlantedSettings(Seeded):
    """The settings of a planted collection.

    ``passages`` − ``queries`` passages mention a query's words, evenly over the queries, up to 9
    per query; the rest mention no query's words. ``sentences`` is the range of sentences per
    passage. ``leaked_queries`` additional training queries repeat test queries; with any, each test
    query has a second passage that answers. ``fresh_queries`` additional queries form a separate
    split. ``answers_each`` passages answer each query, each clicked with the probability 0.3, at
    least one of them; 0: one answers, without clicks.
    """

    front_loading: float = setting(
        DEFAULT_FRONT_LOADING,
        "How strongly answers sit at the front: 0 uniform, 1 strongest; the default is about as in "
        "MS MARCO.",
        least=0,
        most=1,
        metavar="0..1",
    )
    queries: int = setting(
        14_000,
        "Total number of queries in the three splits.",
        least=20,
        most=MOST_QUERIES,
        metavar="N",
    )
    passages: int = setting(112_000, "Total number of passages.", metavar="N")
    validation_share: float = 0.03
    test_share: float = 0.22
    sentences: tuple[int, int] = (3, 5)
    leaked_queries: int = setting(
        0,
        "Add N training queries, each a near-duplicate of a test query; pairs.jsonl in the "
        "collection lists the true pairs.",
        metavar="N",
        shown=False,
    )
    fresh_queries: int = setting(
        0,
        "Add a split fresh of N queries, for posbias contamination suspect: like the test queries, "
        "but never trained on.",
        metavar="N",
        shown=False,
    )
    answers_each: int = setting(
        0,
        "N passages answer each query, and only some are clicked: judgements are clicks, with the "
        "further sets true and passed-over.",
        metavar="N",
        shown=False,
    )

    def __post_init__(self) -> None:
        check_settings(self)
        others = {
            "--leaked-queries": self.leaked_queries,
            "--fresh-queries": self.fresh_queries,
        }
        for flag, value in others.items():
            if value and self.answers_each:
                raise SettingError(f"--answers-each: wanted no {flag}; found both; leave one out")
        leaks = MOST_PER_QUERY * self.tests
        _check("--fresh-queries", self.fresh_queries, 0, MOST_QUERIES - self.queries)
        _check("--leaked-queries", self.leaked_queries, 0, leaks)
        if self.answers_each:
            _check("--answers-each", self.answers_each, 2, MOST_ANSWERS)
        # at least one that mentions for each query, or two with leaks
        asked = self.queries + self.fresh_queries
        least = self.answering + asked * (2 if self.leaked_queries else 1)
        if self.passages < least:
            raise SettingError(
                f"--passages: wanted at least {least:,} for these {asked:,} queries; found "
                f"{self.passages:,}; raise it or lower --queries"
            )
        if not 2 <= self.sentences[0] <= self.sentences[1]:
            raise SettingError(f"sentences: wanted a range from at least 2; found {self.sentences}")

    @property
    def tests(self) -> int:
        """Return the number of test queries."""
        return round(self.queries * self.test_share)

    @property
    def answering(self) -> int:
        """Return the number of passages that answer a query."""
        return (
            self.queries * max(1, self.answers_each)
            + self.fresh_queries
            + (self.tests if self.leaked_queries else 0)
        )

    @property
    def judged(self) -> tuple[str, ...]:
        """Return the splits in which passages that only mention a query's words are judged not
        relevant.
        """
        if self.answers_each:
            return SPLITS
        return ("test", FRESH) if self.leaked_queries or self.fresh_queries else ()

    def recorded(self) -> JsonObject:
        """Return the settings for the manifest; additional queries and answers are named only if
        there are any.
        """
        unused = {name for name in ("fresh_queries", "answers_each") if not getattr(self, name)}
        return {name: value for name, value in asdict(self).items() if name not in unused}


def _check(flag: str, number: int, least: int, most: int) -> None:
    if not least <= number <= most:
        raise SettingError(f"{flag}: wanted {least} to {most:,}; found {number:,}; give another")
