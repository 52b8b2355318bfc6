"""Upload checkpoints to the Hugging Face Hub, in one commit."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from huggingface_hub import CommitOperationAdd, HfApi

from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import read_json
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, check_whole, read_manifest
from positionbias.core.outcome import Judgement
from positionbias.core.publish import write_json
from positionbias.core.seal import MANIFEST, seal_file, signed
from positionbias.models.card import CARD


@dataclass(frozen=True, slots=True, repr=False)
class Pushed(Judgement):
    """The address of an uploaded checkpoint, and its size."""

    url: str
    files: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.files:,} files, {self.bytes / 1e6:,.1f} MB: {self.url}"

    def to_json(self) -> JsonObject:
        """Return its address, and how much it holds."""
        return asdict(self)


def push_checkpoint(folder: Path, repo: str, *, private: bool = False, more: str = "") -> Pushed:
    """Upload a checkpoint's files to the model repository ``repo`` (``user/name``), which is made
    if it does not exist.

    ``more`` is added to the model card; the uploaded manifest has the digest of that card. The
    token is the Hub library's own (``HF_TOKEN``, or ``hf auth login``), and so is the Hub's address
    (``HF_ENDPOINT``).

    Raises:
        InputError: not a checkpoint of ours, a damaged one, one without a model card, or the Hub
            refuses it.
    """
    manifest = _whole(folder)
    assert manifest.files is not None
    with TemporaryDirectory() as made:
        changed = _with_card(folder, Path(made), manifest, more) if more else {}
        places = {name: changed.get(name, folder / name) for name in (*manifest.files, MANIFEST)}
        try:
            api = HfApi(library_name="positionbias")
            url = api.create_repo(repo, private=private or None, exist_ok=True)
            commit = [
                CommitOperationAdd(path_in_repo=name, path_or_fileobj=place)
                for name, place in places.items()
            ]
            api.create_commit(url.repo_id, commit, commit_message=f"Upload {manifest.name}")
        # many types: its own, and those of the library that it sends requests by
        except Exception as error:
            found = (str(error).strip() or type(error).__name__).splitlines()[0]
            do = (
                "check the connection and the name, log in (hf auth login) or set HF_TOKEN, and "
                "push again"
            )
            raise InputError(f"{repo}: nothing was pushed to the Hub: {found}; {do}") from error
        return Pushed(str(url), len(places), sum(place.stat().st_size for place in places.values()))


def _whole(folder: Path) -> Manifest:
    """Return the manifest of a checkpoint after comparing every file with it.

    Raises:
        InputError: a file differs, or it is not a checkpoint with a model card.
    """
    manifest = read_manifest(folder, kind="checkpoint")
    check_whole(folder / MANIFEST, manifest)
    if CARD not in (manifest.files or {}):
        do = (
            "load it and write it again (positionbias.models.checkpoint.save_checkpoint), or train "
            "it again"
        )
        raise bad_input(
            folder, wanted=f"a checkpoint with its model card ({CARD})", found="none", do=do
        )
    return manifest


def _with_card(folder: Path, made: Path, manifest: Manifest, more: str) -> dict[str, Path]:
    """Write the card with ``more`` below it, and the manifest with its digest; return both paths by
    name.
    """
    card, sealed = made / CARD, made / MANIFEST
    card.write_text(
        f"{(folder / CARD).read_text('utf-8').rstrip()}\n\n{more.strip()}\n", "utf-8", newline="\n"
    )
    record = read_json(folder / MANIFEST, what="a manifest")
    files = {**(manifest.files or {}), CARD: seal_file(card)}
    record["files"] = json.loads(json.dumps(asdict(replace(manifest, files=files))["files"]))
    write_json(sealed, signed({name: value for name, value in record.items() if name != "digest"}))
    return {CARD: card, MANIFEST: sealed}
