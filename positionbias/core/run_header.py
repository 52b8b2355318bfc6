"""Write the origin of a run at its head: ir_metadata 0.1 (Breuer, Keller and Schaer, SIGIR 2022;
ir-metadata.org), in lines that begin with "#".

Its components are those of PRIMAD: platform, research goal, implementation, method, actor, data.
Research goal and actor are left empty for the user, as by ``MetadataHandler`` of repro_eval.
"""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal, get_args

from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import InputRef, Manifest
from positionbias.core.settings import Panel, check_settings, setting
from positionbias.core.system import memory_bytes, processor_names

__all__ = ["RunHeader"]

Told = Literal["nothing", "software", "hardware"]
# roles of inputs that are runs; those of an ensemble are numbered
_FIRST_STAGES = ("candidates", "run")


@dataclass(frozen=True, slots=True)
class RunHeader:
    """Settings of a written run's header.

    Raises:
        SettingError: not one of the choices.
    """

    ir_metadata: Told = setting(
        "nothing",
        "Begin the run with an ir_metadata header: command, settings, versions and data "
        "(software), and this machine too (hardware). posbias and "
        "repro_eval read such runs; for ir_measures, pytrec_eval and PyTerrier remove the lines "
        'that begin with "#".',
        choices=get_args(Told),
        panel=Panel.ADVANCED,
    )

    def __post_init__(self) -> None:
        check_settings(self)

    def lines(self, manifest: Manifest) -> list[str]:
        """Return the header of a run; no lines if none was asked for.

        The manifest's content is not used: it is known only once the run is written. Without
        ``hardware`` the lines depend only on settings and inputs, like the run.
        """
        if self.ir_metadata == "nothing":
            return []
        import msgspec

        from positionbias.core.run_blocks import HEADER_END, HEADER_START

        text = msgspec.yaml.encode(
            _metadata(manifest, hardware=self.ir_metadata == "hardware")
        ).decode()
        return [HEADER_START, *(f"# {line}" for line in text.rstrip("\n").split("\n")), HEADER_END]


def _metadata(manifest: Manifest, *, hardware: bool) -> JsonObject:
    from positionbias.core.rank_order import tag_of

    return {
        "schema-version": 0.1,
        "run-version": 1.0,
        "tag": tag_of(manifest.name),
        "platform": {
            **(_hardware() if hardware else {}),
            "software": {
                "libraries": {
                    "python": [f"{name}=={version}" for name, version in manifest.versions.items()]
                },
                "retrieval toolkit": [f"positionbias=={manifest.versions['positionbias']}"],
            },
        },
        "research goal": {},
        "implementation": {
            "executable": {"cmd": f"posbias {manifest.command}"},
            "source": {"lang": ["Python"]},
        },
        "method": {
            "automatic": True,
            "score ties": "reverse alphabetical order",
            "retrieval": [_stage(manifest)],
        },
        "actor": {},
        "data": _data(manifest),
    }


def _stage(manifest: Manifest) -> JsonObject:
    """Return the retrieval stage that made the run, and the names of earlier stages."""
    from positionbias.core.rank_order import run_stem, tag_of

    before: list[str] = [run_stem(Path(item.path)) for item in manifest.inputs if _is_run(item)]
    settings: JsonObject = {
        key: value for key, value in manifest.settings.items() if key != "split"
    }
    stage: JsonObject = {
        "name": tag_of(manifest.name),
        "method": f"posbias {manifest.command}",
        "params": settings,
    }
    if manifest.command == "rerank":
        return {**stage, "reranks": before[0]}
    return {**stage, "interpolates": [*before]} if before else stage


def _is_run(item: InputRef) -> bool:
    return item.role.partition(" ")[0] in _FIRST_STAGES


def _data(manifest: Manifest) -> JsonObject:
    """Return the collection with the split of its queries, and all other inputs but runs, with
    their checksums.
    """
    split = manifest.settings.get("split")
    collections: list[JsonObject] = [
        _named(item) for item in manifest.inputs if item.role == "collection"
    ]
    others = [
        {"kind": item.role, **_named(item)}
        for item in manifest.inputs
        if item.role != "collection" and not _is_run(item)
    ]
    collection: JsonObject = (
        {**collections[0], **({"split": split} if split else {})} if collections else {}
    )
    return {"test collection": collection, **({"other": [*others]} if others else {})}


def _named(item: InputRef) -> JsonObject:
    return {"name": PurePath(item.path).name, "checksum": item.checksum}


def _hardware() -> JsonObject:
    """Return this machine's processor, memory and operating system, as far as known."""
    distribution = ""
    with suppress(OSError):
        distribution = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    memory = memory_bytes()
    return {
        "hardware": {
            "cpu": {
                "model": next(processor_names(), platform.processor()),
                "architecture": platform.machine(),
                "operation mode": platform.architecture()[0].replace("bit", "-bit"),
                "number of cores": os.cpu_count(),
            },
            **({} if memory is None else {"ram": f"{memory / (1 << 30):.2f} GB"}),
        },
        "operating system": {
            "kernel": f"{platform.system()} {platform.release()}",
            "distribution": distribution,
        },
    }
