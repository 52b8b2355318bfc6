"""Character n-graphs of words, the input of Duet's distributed model (Mitra, Diaz and Craswell
2017, §2.2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

LONGEST = 5  # characters of an n-graph
_EDGE = "#"


def graphs_of(word: str, longest: int = LONGEST) -> Iterator[str]:
    """Yield all n-graphs of 1 to ``longest`` characters, with the edges of the word written as #.

    >>> list(graphs_of("an", 2))
    ['#', '#a', 'a', 'an', 'n', 'n#', '#']
    """
    text = f"{_EDGE}{word}{_EDGE}"
    for start in range(len(text)):
        for end in range(start + 1, min(start + longest, len(text)) + 1):
            yield text[start:end]


class NGraphs:
    """A model's known n-graphs, numbered from 0."""

    def __init__(self, graphs: Sequence[str]) -> None:
        if len(set(graphs)) != len(graphs) or not graphs:
            raise ValueError("wanted n-graphs, each once")
        self.graphs = list(graphs)
        self._numbers = {graph: number for number, graph in enumerate(self.graphs)}
        self._longest = max(map(len, self.graphs))

    @staticmethod
    def build(counts: Mapping[str, int], most: int) -> NGraphs:
        """Select the ``most`` most frequent n-graphs of running text, by the words' ``counts``,
        then by spelling.

        Without words, only the edge.
        """
        found: Counter[str] = Counter({_EDGE: 0})
        for word, count in counts.items():
            for graph in graphs_of(word):
                found[graph] += count
        return NGraphs(sorted(found, key=lambda graph: (-found[graph], graph))[:most])

    def __len__(self) -> int:
        return len(self.graphs)

    def encode(self, word: str) -> list[int]:
        """Return the numbers of a word's known n-graphs, with repetitions."""
        numbers = self._numbers
        return [numbers[graph] for graph in graphs_of(word, self._longest) if graph in numbers]
