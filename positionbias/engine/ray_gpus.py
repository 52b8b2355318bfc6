"""Map a function over shards by processes of a Ray cluster that have a GPU each and keep what they
have loaded.

Ray ends the process of a task that used a GPU, and its model with it; an actor lives on. Items of
an actor that dies go to others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from positionbias.engine.ray import SECONDS_TO_STOP, Place, given_up, no_gpu, result_of, work
from positionbias.engine.ray_driver import RETRIES

Item = TypeVar("Item")
Out = TypeVar("Out")
HELD = 2  # items of an actor at once: one is computed, one waits
SECONDS_TO_LOOK = 5.0  # for machines that have come


class _Asked(NamedTuple):
    """An item that an actor works on."""

    actor: Any
    number: int
    item: Any
    deaths: int


class _Worker:
    """An actor's process."""

    def ready(self) -> None:
        pass

    def work(self, place: Place, function: Callable[[Any], Any], item: Any) -> Any:
        return work(place, function, item)


def in_order_on_gpus(
    ray: Any, place: Place, function: Callable[[Item], Out], items: Iterable[Item]
) -> Iterator[Out]:
    """Yield ``function`` of every item in the order of the items. At most two items an actor are in
    progress, and as many results wait.

    Raises:
        SettingError: the cluster has no GPU.
        PositionBiasError: an item's process died more often than it is repeated.
    """
    pool = _Pool(ray, place, function)
    done: dict[int, Out] = {}
    numbered = enumerate(items)
    rest, following = True, 0
    try:
        while True:
            pool.grow()
            while pool.has_room and (pool.again or rest):
                if pool.again:
                    pool.ask(*pool.again.popleft())
                elif pool.busy and max(
                    one.number for one in pool.busy.values()
                ) - following >= 2 * HELD * len(pool.actors):
                    break  # results would pile up behind a slow one
                elif (found := next(numbered, None)) is None:
                    rest = False
                else:
                    pool.ask(*found, 0)
            while following in done:
                yield done.pop(following)
                following += 1
            if not (rest or pool.busy or pool.again or done):
                return
            done.update(pool.look())
    finally:
        pool.end()


class _Pool:
    """An actor for each GPU of the cluster. ``again`` has items whose actor died: number, item,
    deaths.
    """

    def __init__(self, ray: Any, place: Place, function: Callable[[Any], Any]) -> None:
        self.ray, self.place, self.function = ray, place, ray.put(function)
        self.kind = ray.remote(num_gpus=1, max_restarts=0)(_Worker)
        self.actors: list[Any] = []
        self.starting: dict[Any, Any] = {}
        self.busy: dict[Any, _Asked] = {}
        self.again: deque[tuple[int, Any, int]] = deque()

    def grow(self) -> None:
        """Start actors for GPUs that have none; they begin when Ray has placed them."""
        gpus = int(self.ray.cluster_resources().get("GPU", 0))
        if not (gpus or self.actors or self.starting):
            raise no_gpu()
        for _ in range(gpus - len(self.actors) - len(self.starting)):
            actor = self.kind.remote()
            self.starting[actor.ready.remote()] = actor

    @property
    def has_room(self) -> bool:
        """True if an actor can take another item."""
        return len(self.busy) < HELD * len(self.actors)

    def ask(self, number: int, item: Any, deaths: int) -> None:
        """Give an item to the actor that has the fewest."""
        held = [one.actor for one in self.busy.values()]
        actor = min(self.actors, key=held.count)
        self.busy[actor.work.remote(self.place, self.function, item)] = _Asked(
            actor, number, item, deaths
        )

    def look(self) -> dict[int, Any]:
        """Wait for something to happen; return results by number."""
        found: dict[int, Any] = {}
        ended, _ = self.ray.wait(
            [*self.starting, *self.busy], num_returns=1, timeout=SECONDS_TO_LOOK
        )
        for reference in ended:
            try:
                if reference in self.starting:
                    self.ray.get(reference)
                    self.actors.append(self.starting.pop(reference))
                else:
                    found[self.busy[reference].number] = result_of(self.ray, reference)
                    del self.busy[reference]
            except self.ray.exceptions.RayActorError as error:
                self._lost(reference, error)
        return found

    def _lost(self, reference: Any, error: Exception) -> None:
        if self.starting.pop(reference, None) is not None:
            return
        one = self.busy.pop(reference)
        if one.actor in self.actors:
            self.actors.remove(one.actor)
        if one.deaths == RETRIES:
            raise given_up(error) from error
        self.again.append((one.number, one.item, one.deaths + 1))

    def end(self) -> None:
        """End all actors; none may still be writing when the caller cleans up after an error."""
        if not self.ray.is_initialized():
            return
        for actor in [*self.actors, *self.starting.values()]:
            self.ray.kill(actor)
        if self.busy:
            self.ray.wait(list(self.busy), num_returns=len(self.busy), timeout=SECONDS_TO_STOP)
