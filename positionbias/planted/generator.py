"""Generate the planted collection, whose truth is known.

Each query asks for one attribute of one thing. One passage answers it, in a sentence whose place in
the passage is drawn from the density ``front:λ`` of ``positions.settings``, λ = ``front_loading``
(the default 0.7 puts about as much into the first tenth as in MS MARCO's answers).
Other passages have the same query words in a sentence that does not answer, at a uniform place. All
else has the same distribution in both: the number of sentences, the other sentences (about things
that no query asks for, which answer or only mention with equal probability), and the sentence
fragments at both ends (a passage is a window of a longer text, so it may start at any word).
Therefore

* the query's words do not separate relevant from non-relevant passages: BM25 sees the same words in
  both;
* position separates them exactly to the degree set, and not at all at λ = 0;
* the content of the sentence with the query's words always separates them, and is the task to
  learn. A bag of words captures part of it (one more sentence that states something); a model of
  the words around the query's words captures all of it.

With ``leaked_queries`` the splits train and test are a source and a target with known leakage
(``planted.leaks``): additional training queries that repeat test queries; a second passage that
answers each test query, with the same value; and judgements that passages mentioning a test query's
words are not relevant. A test query's answers are also judged relevant for the training queries
that repeat it.

With ``fresh_queries`` the split test has controls for models that may have seen
it (``planted.fresh``): a split of new queries, or of reworded test queries. In all of these,
passages that only mention the words are judged not relevant too.

With ``answers_each`` several passages answer a query and only some are clicked
(``planted.clicks``): a split's judgements are then clicks, with further sets for the whole truth
and the skipped results.

Ids are hashes, and passages are stored in the order of ids, so neither depends on relevance. A
query's answer is the whole answering sentence, with character offsets: a rotation that cuts the
sentence cuts the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.files import sha256_file
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest
from positionbias.core.progress import track
from positionbias.core.publish import refuse_existing
from positionbias.core.records import Answer, Passage
from positionbias.core.seeds import key64
from positionbias.core.split_tables import KIND
from positionbias.planted.clicks import add_clicks
from positionbias.planted.fresh import FRESH, plan_fresh
from positionbias.planted.grammar import (
    ATTRIBUTES,
    FIRST_NAMES,
    SECOND_NAMES,
    PlantedQuery,
    Thing,
    answering,
    mentioning,
    question,
    stated_value,
)
from positionbias.planted.leaks import TRUE_PAIRS, Leak, plan_leaks, write_true_pairs
from positionbias.planted.settings import SPLITS, THINGS, PlantedSettings
from positionbias.planted.splits import add_split
from positionbias.positions.settings import Density

MOST_MENTIONS_PER_QUERY = 9


def _random(seed: int, purpose: str, *parts: str | int) -> Random:
    return Random(key64(seed, f"planted {purpose}", *parts))


def _thing(number: int) -> Thing:
    return Thing(FIRST_NAMES[number // len(SECOND_NAMES)], SECOND_NAMES[number % len(SECOND_NAMES)])


def plan_queries(settings: PlantedSettings) -> tuple[list[PlantedQuery], list[Thing]]:
    """Return all queries with their truth, in order of ids, and the things that no query asks
    about.
    """
    random = _random(settings.seed, "things")
    numbers = random.sample(range(THINGS), 2 * settings.queries)
    things = [_thing(number) for number in numbers]
    asked, background = things[: settings.queries], things[settings.queries :]
    tests = settings.tests
    validations = round(settings.queries * settings.validation_share)
    queries = []
    for number, thing in enumerate(asked):
        split = (
            "test" if number < tests else "validation" if number < tests + validations else "train"
        )
        own = _random(settings.seed, "query", number)
        attribute = own.choice(list(ATTRIBUTES))
        query_id = f"q{key64(settings.seed, 'planted query id', number):016x}"
        queries.append(
            PlantedQuery(query_id, question(own, thing, attribute), split, thing, attribute)
        )
    queries += plan_fresh(settings.fresh_queries, numbers, THINGS, _thing, settings.seed)
    return sorted(queries, key=lambda query: query.query_id), background


class _Builder:
    """A generator of passages, each a function of (settings, its own key) alone."""

    def __init__(self, settings: PlantedSettings, background: list[Thing]) -> None:
        self.settings, self.background = settings, background

    def _filler(self, random: Random, answers: bool) -> str:
        write = answering if answers else mentioning
        return write(random, random.choice(self.background), random.choice(list(ATTRIBUTES)))

    def _window(self, random: Random, sentences: list[str]) -> tuple[str, int]:
        """Return the passage's text, and the character offset of its first whole sentence."""
        before = self._filler(random, random.random() < 0.5).split()
        after = self._filler(random, random.random() < 0.5).split()
        opening = before[len(before) - random.randrange(len(before)) :]
        closing = after[: random.randrange(len(after))]
        start = len(" ".join(opening)) + 1 if opening else 0
        return " ".join([*opening, *sentences, *closing]), start

    def _others(self, random: Random) -> list[str]:
        """Generate the other sentences, each answering or mentioning with equal probability."""
        return [
            self._filler(random, random.random() < 0.5)
            for _ in range(random.randint(*self.settings.sentences) - 1)
        ]

    def relevant(
        self, query: PlantedQuery, value: str | None = None, turn: int = 1
    ) -> tuple[Passage, Answer]:
        """Make a passage that answers a query at a place drawn from f; with ``value``, another
        passage that states it.
        """
        purpose = "relevant" if value is None else "relevant again"
        key = (query.query_id, *((turn,) if turn > 1 else ()))
        random = _random(self.settings.seed, purpose, *key)
        others = self._others(random)
        total = len(others) + 1
        slot = random.choices(
            range(total), Density("front", self.settings.front_loading).shares(total)
        )[0]
        sentence = answering(random, query.thing, query.attribute, value)
        sentences = [*others[:slot], sentence, *others[slot:]]
        text, offset = self._window(random, sentences)
        start = offset + sum(len(s) + 1 for s in sentences[:slot])
        passage_id = f"p{key64(self.settings.seed, 'planted passage id', purpose, *key):016x}"
        return Passage(passage_id, text), Answer(
            query.query_id, passage_id, sentence, start, start + len(sentence)
        )

    def answers(self, query: PlantedQuery) -> Iterator[tuple[Passage, Answer]]:
        """Yield the passages that answer a query: one, two for test queries with leaks, or
        ``answers_each`` with clicks.
        """
        first = self.relevant(query)
        yield first
        more = self.settings.answers_each - 1 if self.settings.answers_each else 0
        if self.settings.leaked_queries and query.split == "test":
            more = 1
        for turn in range(1, more + 1):
            yield self.relevant(query, stated_value(first[1].text, query.attribute), turn)

    def mention(self, number: int, query: PlantedQuery | None) -> Passage:
        """Make a passage that mentions a query's words at a uniform place without answering; None:
        it mentions no query's words.
        """
        random = _random(self.settings.seed, "mention", number)
        others = self._others(random)
        slot = random.randrange(len(others) + 1)
        sentence = (
            self._filler(random, False)
            if query is None
            else mentioning(random, query.thing, query.attribute)
        )
        text, _ = self._window(random, [*others[:slot], sentence, *others[slot:]])
        return Passage(
            f"p{key64(self.settings.seed, 'planted passage id', 'mention', number):016x}", text
        )


def _mention_plan(
    settings: PlantedSettings, queries: list[PlantedQuery]
) -> Iterator[PlantedQuery | None]:
    """Yield, for each passage that does not answer, the query whose words it mentions: all equally
    often, at most 9 times.
    """
    for place in range(settings.passages - settings.answering):
        turn, index = divmod(place, len(queries))
        yield queries[index] if turn < MOST_MENTIONS_PER_QUERY else None


def write_planted(
    out: Path | str,
    settings: PlantedSettings | None = None,
    *,
    name: str = "",
    overwrite: bool = False,
) -> Collection:
    """Write a planted collection to ``out`` and open it.

    Raises:
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    settings = settings or PlantedSettings()
    out = Path(out)
    refuse_existing(out, overwrite=overwrite)
    queries, background = plan_queries(settings)
    tests = [query for query in queries if query.split == "test"]
    leaks = plan_leaks(tests, settings.leaked_queries, settings.seed)
    builder = _Builder(settings, background)
    passages: list[Passage] = []
    answers: dict[str, list[Answer]] = {}
    mentions: dict[str, list[str]] = {}
    for query in track(queries, "planting answers", unit="passages"):
        for passage, answer in builder.answers(query):
            passages.append(passage)
            answers.setdefault(query.query_id, []).append(answer)
    plan = enumerate(_mention_plan(settings, queries))
    for number, mentioned in track(
        plan, "planting mentions", settings.passages - settings.answering, unit="passages"
    ):
        passages.append(builder.mention(number, mentioned))
        if mentioned is not None and mentioned.split in settings.judged:
            mentions.setdefault(mentioned.query_id, []).append(passages[-1].passage_id)
    passages.sort()
    with create_collection(out, overwrite=overwrite) as writer:
        writer.add_passages(passages)
        for split in (*SPLITS, *([FRESH] if settings.fresh_queries else [])):
            repeated, own = (
                leaks if split == "train" else [],
                [q for q in queries if q.split == split],
            )
            if settings.answers_each:
                add_clicks(writer, split, own, answers, mentions, seed=settings.seed)
            else:
                add_split(writer, split, own, repeated, answers, mentions)
        writer.finish(
            Manifest(
                kind=KIND,
                name=name or out.name,
                command="import planted",
                settings=settings.recorded(),
                seed=settings.seed,
                licence="CC0-1.0 (invented text)",
                notes=(
                    (
                        "The answering sentence's place follows the density of "
                        "positionbias.planted.generator."
                    ),
                ),
                content=_true_pairs(writer.folder, leaks) if leaks else {},
            )
        )
    return Collection(out)


def _true_pairs(folder: Path, leaks: list[Leak]) -> JsonObject:
    """Write the true pairs into ``folder`` and return the manifest's facts about them."""
    write_true_pairs(folder / TRUE_PAIRS, leaks)
    tests = len({leak.repeats.query_id for leak in leaks})
    return {
        "leaks": {
            "queries": len(leaks),
            "test_queries": tests,
            "checksum": sha256_file(folder / TRUE_PAIRS),
        }
    }
