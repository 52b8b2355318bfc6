"""What a step takes at a size that nobody has run yet."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

from positionbias.core.errors import SettingError, bad_input
from positionbias.core.manifest import input_name
from positionbias.core.operation import Overwrite, SavedTo, operation
from positionbias.core.places import Place, input_place
from positionbias.core.settings import Panel, Setting, refuse_idle
from positionbias.core.system import peak_memory
from positionbias.dense.settings import MEMORY, ON_DISK, OnDisk
from positionbias.models.kinds import READ_AS
from positionbias.ops.outcome import Measurements, Read, refuse_outputs, save_if_asked
from positionbias.planning.settings import STEPS, Machines, PlannedWork, RateSource, StepName
from positionbias.ranking.config import Computing
from positionbias.results.plans import STEP_PLAN

if TYPE_CHECKING:
    from positionbias.core.collection import Collection
    from positionbias.core.manifest import Manifest
    from positionbias.models.checkpoint import Checkpoint
    from positionbias.planning.lines import Stored
    from positionbias.planning.rates import Rate
    from positionbias.results.result import Result

__all__ = ["plan"]

WORD_BYTES, INDEX_BYTES = 6.3, 24.4  # of a word with its space, and of a passage in the index of ids: MS MARCO's
ASSUMED_START = 30.0  # seconds, where no model is loaded


@operation
def plan(
    step: Annotated[
        StepName, Setting("The step: encode, rerank, teach, or retrieve by exact search.", choices=STEPS, metavar="STEP")
    ],
    *,
    model: Annotated[
        Place | None,
        Setting("The model of the step, as the step takes it; not needed with --measured.", metavar="MODEL", place="read"),
    ] = None,
    kind: Annotated[str | None, READ_AS] = None,
    work: PlannedWork = PlannedWork(),
    machines: Machines = Machines(),
    source: RateSource = RateSource(),
    precision_on_disk: Annotated[
        OnDisk, Setting("Of the vectors as they are kept. float16 takes half the space.", choices=ON_DISK, panel=Panel.ADVANCED)
    ] = ON_DISK[0],
    computing: Computing = Computing(),
    out: SavedTo = None,
    overwrite: Overwrite = False,
) -> Measurements:
    """Say what a step with a model takes at a size: time, memory, disk and network, from measured rates.

    The rate is that of an earlier artefact of the step (--measured), a number (--rate), or the model timed here for some seconds. Each line says
    whether it was measured, given, assumed or computed from the others. The rate of a CPU says nothing about GPUs: with --gpus and no rate of
    one, the time is "cannot tell".

        posbias plan encode --model minilm --passages 1e9 --gpus 64 --rate 18000
        posbias plan rerank --measured tk.run --passages 8.8e6 --queries 6980 --depth 1000

    Returns:
        One result with all lines; its value is the time in seconds, None where nothing tells it.

    Raises:
        SettingError: settings that do not go together, or a GPU that is not there.
        InputError: no such model or collection, or an artefact of another step or model.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import Machines, PlannedWork, RateSource
        >>> work, machines = PlannedWork(passages=1e9), Machines(gpus=64)
        >>> found = pb.plan("encode", model="dot.ckpt", work=work, machines=machines, source=RateSource(rate=20_000))
        >>> for name in ("blocks", "disk: what is written"):
        ...     print(found.results[0].payload.rows[name])
        PlannedAmount(value=122071, unit='', origin='computed', note='a worker takes one at a time')
        PlannedAmount(value=46000000000.0, unit='bytes', origin='computed', note='passages × dimension × bytes a number, and ids')
    """
    from positionbias.core.collection import find_collection

    _check(step, model, work, source)
    refuse_outputs(out, overwrite=overwrite)
    collection = None if source.collection is None else find_collection(source.collection)
    began = time.perf_counter()
    checkpoint = None if model is None else computing.load(model, kind)
    start = ASSUMED_START if checkpoint is None else time.perf_counter() - began
    manifest = _artefact(step, source, checkpoint)
    machines = _on_gpus(machines, computing)
    asked = _Asked(step, work, machines, source, precision_on_disk, computing, collection, checkpoint, start, manifest)
    return save_if_asked(_measurements(asked, _planned(asked)), out, overwrite=overwrite)


def _check(step: StepName, model: Place | None, work: PlannedWork, source: RateSource) -> None:
    """Refuse settings that do not go together.

    Raises:
        SettingError: some do not.
    """
    if model is None and (source.measured is None or step == "retrieve"):
        raise SettingError(
            f"--model: wanted the model of the step{'' if step == 'retrieve' else ', or --measured'}; found none; give it"
        )
    if work.passages is None and source.collection is None:
        raise SettingError("--passages: wanted a number of passages, or --collection; found neither; give one")
    if (work.queries is None) == (step != "encode"):
        wanted = "none with encode" if step == "encode" else "a number of queries"
        raise SettingError(
            f"--queries: wanted {wanted}; found {work.queries or 'none'}; {'leave it out' if work.queries else 'give it'}"
        )
    if step == "encode":
        refuse_idle(["--depth"], wanted="none", found="encode")
    if source.measured is not None or source.rate is not None:
        refuse_idle(["--seconds"], wanted="none", found="a rate")


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was asked for, with the collection, the model and the earlier artefact opened; ``start``: the seconds to load the model."""

    step: StepName
    work: PlannedWork
    machines: Machines
    source: RateSource
    on_disk: OnDisk
    computing: Computing
    collection: Collection | None
    checkpoint: Checkpoint | None
    start: float
    manifest: Manifest | None

    @property
    def passages(self) -> float:
        return self.work.passages or float(len(self.collection or ()))

    @property
    def depth(self) -> int:
        return int(min(self.work.depth, self.passages))

    @property
    def pairs(self) -> float:
        return (self.work.queries or 0.0) * self.depth


def _planned(asked: _Asked) -> Result:
    from positionbias.models.protocols import encodes_alone
    from positionbias.planning.arithmetic import Alone, blocks_of, sizes_of, times_of
    from positionbias.planning.lines import Known, lines_of
    from positionbias.planning.sample import written_at
    from positionbias.results.plans import StepPlan
    from positionbias.results.result import Result

    step, checkpoint = asked.step, asked.checkpoint
    rate, why_not = _rate(asked)
    stored, dimension = _stored(asked), _dimension(asked)
    vector = dimension * (2.0 if asked.on_disk == "float16" else 4.0)
    alone = encodes_alone(checkpoint.model) if checkpoint else bool(rate and rate.passage)
    blocks = blocks_of(
        step, asked.passages, asked.work.queries or 0.0, asked.depth, alone=alone, gpu=asked.machines.gpus is not None
    )
    passes = _passes(asked, dimension) if step == "retrieve" else 1
    sizes = sizes_of(step, blocks, passages=asked.passages, pairs=asked.pairs, text=stored.text, vector=vector, passes=passes)
    shard, digest, pair = written_at(max(1 << 20, int(8_192 * vector)))
    own = Alone(asked.start, shard if step in ("encode", "teach") else 0.0, digest, pair)
    times = None if rate is None else times_of(step, blocks, rate, asked.machines, own, sizes, asked.pairs)
    known = Known(
        step=step,
        passages=asked.passages,
        pairs=asked.pairs,
        rate=rate,
        why_not=why_not,
        start_told=("measured", "loading the model here") if checkpoint else ("assumed", "no --model was given to load"),
        stored=stored,
        vector=vector,
        memory=rate.memory if rate and rate.memory else peak_memory(),
        memory_told=_memory_told(asked, rate),
        alone=alone,
        machines=asked.machines,
    )
    lines = StepPlan(rows=lines_of(known, blocks, times, sizes))
    where = asked.collection.name if asked.collection is not None else ""
    value = times.total if times else None
    return Result(f"{STEP_PLAN}{step}", where, "", _model_name(asked), None, value, None, int(asked.passages), lines)


def _memory_told(asked: _Asked, rate: Rate | None) -> str:
    if rate is not None and rate.memory:
        return "where the rate was measured"
    if asked.checkpoint is None:
        return "of this command; no model was loaded"
    cuda = ", on a CPU: CUDA holds more" if asked.machines.gpus and asked.checkpoint.model.device.type == "cpu" else ""
    return f"after loading the model here, without work{cuda}"


def _model_name(asked: _Asked) -> str:
    if asked.checkpoint is not None:
        return asked.checkpoint.name
    found = asked.manifest.settings.get("model") if asked.manifest else None
    return found if isinstance(found, str) else asked.manifest.name if asked.manifest else ""


def _artefact(step: StepName, source: RateSource, checkpoint: Checkpoint | None) -> Manifest | None:
    """Return the manifest of --measured.

    Raises:
        InputError: it is another step's, or another model's.
    """
    from positionbias.planning.rates import artefact_of

    if source.measured is None:
        return None
    place = input_place(source.measured)
    manifest = artefact_of(step, place)
    by = manifest.input("model")
    if checkpoint is not None and by is not None and by.checksum != checkpoint.manifest.checksum:
        raise bad_input(
            place,
            wanted=f"an artefact by the model {checkpoint.name} ({checkpoint.manifest.checksum[:12]})",
            found=f"one by {input_name(by.path)} ({by.checksum[:12]})",
            do="give that --model, or leave it out",
        )
    return manifest


def _on_gpus(machines: Machines, computing: Computing) -> Machines:
    """Return the machines, with their GPUs where the step would compute on GPUs without being asked to."""
    if machines.gpus is not None or computing.pick_device().type != "cuda":
        return machines
    return Machines(gpus=machines.processes, machines=machines.number)


def _rate(asked: _Asked) -> tuple[Rate | None, str]:
    """Return the rate of a device of the wanted kind; None, and why not, where the only one is of the other kind."""
    from positionbias.planning.rates import given_rate, rate_of
    from positionbias.planning.sample import Sample, invented_texts, texts_of

    source, gpu = asked.source, asked.machines.gpus is not None
    if source.rate is not None:
        return given_rate(asked.step, source.rate, gpu=gpu), ""
    if source.measured is not None and asked.manifest is not None:
        found = rate_of(asked.manifest, input_place(source.measured))
        if (found.device == "cuda") != gpu:
            return None, f"measured on {'a GPU' if not gpu else 'a CPU'} ({found.note})"
        return found, ""
    assert asked.checkpoint is not None
    if gpu and asked.checkpoint.model.device.type != "cuda":
        return None, "no GPU here to measure"
    texts = texts_of(asked.collection) if asked.collection is not None else invented_texts(asked.work.passage_words)
    return Sample(asked.checkpoint, texts, asked.computing.config, source.seconds).rate(asked.step), ""


def _dimension(asked: _Asked) -> int:
    """Return the width of the step's vectors; 0 of a step without.

    Raises:
        SettingError: the model has not one vector a text.
    """
    if asked.step not in ("encode", "retrieve"):
        return 0
    if asked.checkpoint is None:
        assert asked.manifest is not None
        return asked.manifest.content_as(int, "dimension")
    from positionbias.dense.single_vectors import SingleVectors

    return SingleVectors(asked.checkpoint, asked.computing.config).model.dimension


def _stored(asked: _Asked) -> Stored:
    """Return the bytes of a passage in the collection: of --collection, or of the stated length."""
    from positionbias.planning.lines import Stored

    if asked.collection is None:
        text = asked.work.passage_words * WORD_BYTES
        return Stored(
            text,
            text + INDEX_BYTES,
            "assumed",
            f"{asked.work.passage_words:g} words a passage, {WORD_BYTES} bytes each; ids as MS MARCO's",
        )
    files = asked.collection.manifest.files or {}
    held = {part: sum(seal.bytes for name, seal in files.items() if name.startswith(part)) for part in ("passages/", "")}
    number = max(1, len(asked.collection))
    return Stored(
        held["passages/"] / number, held[""] / number, "measured", f"all files of {asked.collection.name}, a passage's share"
    )


def _passes(asked: _Asked, dimension: int) -> int:
    from positionbias.dense.exact import queries_at_once

    return math.ceil((asked.work.queries or 1.0) / queries_at_once(MEMORY, asked.depth, dimension))


def _measurements(asked: _Asked, result: Result) -> Measurements:
    read = []
    if asked.collection is not None:
        read.append(Read("collection", asked.collection.path, asked.collection.checksum))
    if asked.checkpoint is not None:
        read.append(Read("model", asked.checkpoint.path, asked.checkpoint.manifest.checksum))
    if asked.source.measured is not None and asked.manifest is not None:
        read.append(Read(asked.manifest.kind, input_place(asked.source.measured), asked.manifest.checksum))
    settings = {
        "step": asked.step,
        **asdict(asked.work),
        "gpus": asked.machines.gpus,
        "workers": asked.machines.workers,
        "machines": asked.machines.number,
        "rate": asked.source.rate,
        "precision_on_disk": asked.on_disk,
    }
    return Measurements([result], command="plan", settings=settings, read=read, packages=("torch",))
