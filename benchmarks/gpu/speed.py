"""How fast a GPU is used: products, re-ranking, encoding, training and search beside their peers.
Run by ``speed.sh``.

    python speed.py            the parts that are left, most valuable first, until $TOTAL seconds
                               after $BEGAN
    python speed.py table      speed.json and a short table

$OUT/speed.jsonl is the state: a line when a part begins, and one with its result. A part that ended
the process is not begun again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

PREPARE = 20  # seconds; no part begins that has less
Part = Callable[[Any], dict[str, Any]]


def parts() -> Iterator[tuple[str, Part]]:
    """All parts, most valuable first."""
    import speed_parts as own
    import speed_training as steps
    from speed_tokens import tokenizing

    yield "facts", own.facts
    yield "products", own.products
    yield "rerank minilm", partial(own.reranking, shape="minilm")
    yield "encode minilm", partial(own.encoding, shape="minilm")
    yield "search", own.searching
    yield from steps.PARTS.items()
    yield "rerank base", partial(own.reranking, shape="base")
    yield "device alone minilm", partial(own.device_alone, shape="minilm")
    yield "encode base", partial(own.encoding, shape="base")
    yield "tokenizing", tokenizing
    yield "device alone base", partial(own.device_alone, shape="base")


def state() -> Path:
    return Path(os.environ["OUT"]) / "speed.jsonl"


def lines() -> list[dict[str, Any]]:
    """What was written; a line that was cut off is none."""
    found = []
    for line in state().read_text().splitlines() if state().exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def write(**line: Any) -> None:
    with open(state(), "a") as handle:
        print(json.dumps(line), file=handle, flush=True)


class OutOfTimeError(Exception):
    """A part took longer than its limit."""


def measure() -> int:
    """Do the parts that are left; give 75 when the time is up."""
    import gc

    import torch
    from speed_material import SIZES, Material

    from positionbias.core.progress import set_quiet

    def alarm(number: int, frame: FrameType | None) -> None:
        raise OutOfTimeError

    set_quiet(True)
    signal.signal(signal.SIGALRM, alarm)
    size = SIZES[os.environ.get("SIZE", "full")]
    material = Material(Path(os.environ["DATA"]), Path(os.environ["WORK"]) / "speed", size)
    begun = {line["part"] for line in lines()}
    end = float(os.environ["BEGAN"]) + float(os.environ["TOTAL"])
    for name, work in parts():
        left = end - time.time()
        if name in begun:
            continue
        if left < PREPARE:
            return 75
        write(part=name)
        started = time.time()
        limit = int(min(left, size.seconds))
        signal.alarm(limit)
        hangs = threading.Timer(
            limit + 10, os._exit, [1]
        )  # in a call that takes no signals: speed.sh goes on with the next part
        hangs.start()
        try:
            found: dict[str, Any] = {"result": work(material)}
        except Exception as error:  # one part's failure must not end the others
            found = {"failed": f"{type(error).__name__}: {error}"[:2_000], "result": material.found}
        finally:
            signal.alarm(0)
            hangs.cancel()
        write(part=name, seconds=round(time.time() - started, 1), **found)
        print(f"{name}: {time.time() - started:.1f} s {json.dumps(found)[:1_500]}", flush=True)
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    return 0


def table() -> None:
    """Write speed.json, and print what each part found."""
    done = {line["part"]: line for line in lines()}
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    whole = {
        "commit": commit,
        "parts": done,
        "not done": [name for name, _ in parts() if "seconds" not in done.get(name, {})],
    }
    (state().parent / "speed.json").write_text(json.dumps(whole, indent=1) + "\n")
    for name, line in done.items():
        print(
            f"{name:30} {line.get('seconds', 'ended the process'):>8}  "
            f"{line.get('failed', '')[:160]}"
        )
        for key, value in _flat(line.get("result", {})):
            print(
                f"{'':4}{key:52} {value:.4g}"
                if isinstance(value, float)
                else f"{'':4}{key:52} {value}"
            )


def _flat(found: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in found.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key} / ")
        else:
            yield f"{prefix}{key}", value


if __name__ == "__main__":
    if sys.argv[1:] == ["table"]:
        table()
    else:
        sys.exit(measure())
