"""Define the language of the planted collection: sentences that answer, sentences that only
mention, and their parser.

Every sentence is about one attribute of one invented thing. An *answering* sentence states the
value. A *mentioning* sentence has the same query words (the attribute, the thing's two names) and
states no value, or retracts it. Both kinds use the same function words, so no single word
distinguishes them; only the words around the query's words do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import NamedTuple

ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "colour": tuple(
        "amber beige crimson ebony emerald indigo ivory lilac maroon ochre olive pearl ruby "
        "saffron teal violet".split()
    ),
    "material": tuple(
        "basalt brass bronze canvas cedar clay copper cork glass granite horn leather linen marble "
        "pewter wicker".split()
    ),
    "maker": tuple(
        "Alwin Berta Corin Dagny Edric Fenna Gerda Hauke Ilsa Jorun Katla Leif Maren Nils Oda "
        "Perrin".split()
    ),
    "keeper": tuple(
        "abbot baker barber clerk cooper curate ferryman gardener herald mason miller printer "
        "sexton tanner warden weaver".split()
    ),
    "origin": tuple(
        "Aldmoor Brack Cairn Dunholt Estwick Farrow Glen Harth Inver Keld Lorne Marsk Norham Orrin "
        "Pentle Ryde".split()
    ),
    "smell": tuple(
        "almond aniseed clove fennel ginger hay honey juniper lavender mint moss musk nutmeg peat "
        "sage thyme".split()
    ),
    "shape": tuple(
        "arched bulbous conical crescent cubic curved domed flat fluted forked hollow oblong oval "
        "rounded spiral tapered".split()
    ),
    "season": tuple(
        "april august autumn december equinox february harvest january july june march october "
        "solstice spring summer winter".split()
    ),
    "purpose": tuple(
        "brewing carving dyeing fishing grinding hunting milking mourning navigation ploughing "
        "prayer signalling sorting storage trading weighing".split()
    ),
    "emblem": tuple(
        "anchor badger comet dolphin eagle falcon heron lantern lion otter raven ship stag sword "
        "thistle wheel".split()
    ),
    "price": tuple(
        "eight eighty eleven fifty five forty four nine ninety seven seventy six sixty ten thirty "
        "twelve".split()
    ),
    "sound": tuple(
        "buzz chime clang click creak drone echo hiss hum jingle rattle ring rumble squeak thud "
        "whistle".split()
    ),
}

ANSWERING = (
    "The {attribute} of the {thing} is {value}.",
    "The {thing} has {value} as its {attribute}.",
    "Records give {value} as the {attribute} of the {thing}.",
    "For its {attribute}, the {thing} has {value}.",
)
MENTIONING = (
    "The {attribute} of the {thing} is unknown.",
    "The {thing} has nothing as its {attribute}.",
    "Records give nothing as the {attribute} of the {thing}.",
    "For its {attribute}, the {thing} is often asked about.",
    "Whether the {thing} has {value} as its {attribute} is disputed.",
    "Once {value} was wrongly given as the {attribute} of the {thing}.",
)
QUESTIONS = (
    "what is the {attribute} of the {thing}",
    "which {attribute} does the {thing} have",
    "{thing} {attribute}",
)

# How a training query repeats a test query: the leakage paper's reformulation types.
WAYS = ("identical", "generalization", "specialization", "reformulation")
SYNONYMS = {
    "colour": "hue",
    "material": "substance",
    "maker": "craftsman",
    "keeper": "guardian",
    "origin": "birthplace",
    "smell": "scent",
    "shape": "form",
    "season": "period",
    "purpose": "function",
    "emblem": "symbol",
    "price": "cost",
    "sound": "noise",
}
CLOSER = ("today", "originally", "exactly")


def _names(onsets: str, vowels: str, codas: str) -> tuple[str, ...]:
    return tuple(a + b + c for a, b, c in product(onsets.split(), vowels.split(), codas.split()))


# Two disjoint lists of 512 names without English suffixes, so that stemming does not change them.
# They are long enough that two names rarely meet in a passage by chance, and short enough that
# training has seen a test query's names.
FIRST_NAMES = _names(
    "Bra Cla Dro Fen Gla Hor Jul Kra Lum Mor Nal Pra Qua Ruk Sto Tro",
    "b d k m",
    "an ax ob om on uk ux ol",
)
SECOND_NAMES = _names(
    "va we xi yo za bu du fo gu ha ki lo mu no pe ri", "l n r t", "ack olf imp orm ank ust omb irk"
)


class Thing(NamedTuple):
    """An invented thing with two names, both shared with other things."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.first} {self.second}"


@dataclass(frozen=True, slots=True)
class PlantedQuery:
    """A query with its truth: its thing and attribute."""

    query_id: str
    text: str
    split: str
    thing: Thing
    attribute: str


def _fill(template: str, thing: Thing, attribute: str, value: str) -> str:
    return template.format(thing=thing, attribute=attribute, value=value)


def answering(random: Random, thing: Thing, attribute: str, value: str | None = None) -> str:
    """Generate a sentence that states the attribute's ``value``, by default a random one."""
    template, drawn = random.choice(ANSWERING), random.choice(ATTRIBUTES[attribute])
    return _fill(template, thing, attribute, value or drawn)


def mentioning(random: Random, thing: Thing, attribute: str) -> str:
    """Generate a sentence with the same query words that does not answer."""
    return _fill(random.choice(MENTIONING), thing, attribute, random.choice(ATTRIBUTES[attribute]))


def question(random: Random, thing: Thing, attribute: str) -> str:
    """Generate a query for one attribute of one thing."""
    return random.choice(QUESTIONS).format(thing=str(thing).lower(), attribute=attribute)


def reworded(random: Random, way: str, text: str, thing: Thing, attribute: str) -> str:
    """Reword a ``question`` with the same information need.

    By the definitions of the leakage paper (section 3): *identical*, another inflection (the
    attribute in the plural); *generalization*, a subset of the words (the thing alone);
    *specialization*, a superset (one word more); *reformulation*, a synonym (of the attribute).
    """
    if way == "generalization":
        return str(thing).lower()
    if way == "specialization":
        return f"{text} {random.choice(CLOSER)}"
    other = f"{attribute}s" if way == "identical" else SYNONYMS[attribute]
    return " ".join(other if word == attribute else word for word in text.split())


def stated_value(sentence: str, attribute: str) -> str:
    """Return the value that an answering sentence states."""
    words = re.findall(r"\w+", sentence)
    return next(value for value in ATTRIBUTES[attribute] if value in words)
