"""``posbias debias``: rotate every passage at a random word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import (
    emit,
    engine_options,
    json_option,
    out_option,
    output_place,
    overwrite_option,
    say,
    seed_option,
    words_option,
)

if TYPE_CHECKING:
    from positionbias.core.result import Result

__all__ = ["debias"]


@click.command()
@click.argument("collection")
@words_option
@click.option(
    "--mode",
    type=click.Choice(["words", "sentences"]),
    default="words",
    show_default=True,
    help="Where a passage may be cut: before any word, or before any sentence (the paper's rejected pilot).",
)
@click.option("--no-identity", is_flag=True, help="Leave no passage of two or more words as it is.")
@seed_option()
@engine_options
@out_option(what="The rotated collection.")
@overwrite_option
@json_option
def debias(
    collection: str,
    words: Any,
    mode: Any,
    no_identity: bool,
    seed: int,
    workers: int,
    engine: str,
    address: str | None,
    out: str,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Rotate every passage of COLLECTION at a random word; answers move with the text.

    The draw for a passage depends on the seed and its id alone.
    """
    from positionbias.core.collection import find_collection
    from positionbias.engine.choose import open_engine
    from positionbias.positions.debias import debias as write_rotated
    from positionbias.positions.debias import rotation_result
    from positionbias.positions.rotate import Rotation

    rotation = Rotation(words=words, mode=mode, identity=not no_identity, seed=seed)
    with open_engine(engine, workers, address) as map_shards:
        rotated = write_rotated(
            find_collection(collection),
            output_place(out),
            rotation,
            map_shards=map_shards,
            overwrite=overwrite,
            provenance={"workers": workers, "engine": engine},
        )
    result = rotation_result(rotated)
    emit([result], as_json=as_json, table=lambda: _rotation_text(result))
    say(f"written to {rotated.path}; see what changed with: posbias histogram {collection} {out}")


def _rotation_text(result: Result) -> str:
    rows: Any = result.payload.rows  # type: ignore[union-attr]
    lines = [f"{result.collection}: {result.count:,} passages, rotated {result.system}, seed {result.seed}"]
    lines += [f"  {name.replace('_', ' ')}: {count:,}" for name, count in rows["passages"].items()]
    share = rows.get("share_without_inner_sentence_boundary")
    if share is not None:
        lines.append(f"  {share:.1%} of the passages have no inner sentence boundary, and cannot be rotated by sentences")
    if rows["passages"].get("without_white_space_inside"):
        lines.append(
            "  text without spaces (Chinese, Japanese, Thai) needs --words blingfire, which splits it at its punctuation"
        )
    for name, counts in rows.items():
        if name.startswith("answers_") and counts["answers"]:
            lines.append(
                f"  answers of {name.removeprefix('answers_')}: {counts['answers']:,}; cut through and dropped {counts['cut']:,} "
                f"({counts['cut'] / counts['answers']:.1%})"
            )
    return "\n".join(lines)
