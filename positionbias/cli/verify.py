"""``posbias verify``: are artefacts what they were when they were written?"""

from __future__ import annotations

from pathlib import Path

import click

from positionbias.cli.common import json_option, say

__all__ = ["verify"]


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--seal", is_flag=True, help="Give digests to artefacts that have none, after comparing their content with their checksums."
)
@json_option
def verify(paths: tuple[Path, ...], seal: bool, as_json: bool) -> None:
    """Compare every file of the artefacts at PATHS with the digests in their manifests.

    PATHS are artefacts (collections, runs, checkpoints, results …) or folders of them. Exits with 2 if anything is damaged.
    """
    from dataclasses import asdict

    from positionbias.core.errors import InputError
    from positionbias.core.progress import track
    from positionbias.core.terminal import json_line
    from positionbias.core.verify import manifests_in
    from positionbias.core.verify import seal as add_digests
    from positionbias.core.verify import verify as compare

    manifests = [manifest for path in paths for manifest in manifests_in(path)]
    every = []
    for manifest in track(manifests, "verifying", unit="artefacts"):
        found = compare(manifest)
        if seal and not found.sealed and not found.fault:
            found = add_digests(manifest)
        every.append(found)
        if as_json:
            continue
        state = "damaged" if found.fault else "whole" if found.sealed else "no digests"
        more = f" ({found.strange:,} files more than its manifest names)" if found.strange else ""
        click.echo(f"{state:<11} {found.kind:<14} {found.files:>5,} files {found.bytes / 1e6:>10,.1f} MB  {found.path}{more}")
        if found.fault:
            click.echo(f"    {found.fault}")
    if as_json:
        click.echo(json_line({"artefacts": [{**asdict(found), "path": str(found.path)} for found in every]}), nl=False)
    damaged, bare = sum(bool(found.fault) for found in every), sum(not found.sealed for found in every)
    if bare and not seal:
        say(f"{bare:,} of {len(manifests):,} artefacts have no digests to compare with; posbias verify --seal adds them")
    if damaged:
        raise InputError(
            f"wanted {len(manifests):,} artefacts as they were written; found {damaged:,} damaged; restore them from a copy, or make "
            "them again"
        )
