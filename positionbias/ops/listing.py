"""What there is to work with: the artefacts in a folder and under $POSBIAS_HOME."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from positionbias.core.closest import near_file
from positionbias.core.errors import bad_input
from positionbias.core.json_text import JsonObject
from positionbias.core.operation import operation
from positionbias.core.places import Place
from positionbias.core.settings import Setting
from positionbias.ops.outcome import Judgement

if TYPE_CHECKING:
    import pandas

    from positionbias.core.listing import Listed
    from positionbias.report.table import Table

__all__ = ["Listing", "list_artefacts"]


@dataclass(frozen=True, slots=True, repr=False)
class Listing(Judgement):
    """The artefacts of some folders, as their manifests describe them; nothing is measured."""

    artefacts: Sequence[Listed]
    folders: Sequence[Path]

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for each artefact."""
        import pandas

        return pandas.DataFrame(self.to_json()["artefacts"])

    def _tables(self) -> Sequence[Table]:
        from positionbias.report.listing_text import listing_tables

        return listing_tables(self.artefacts, self.folders)

    def __str__(self) -> str:
        from positionbias.report.table import as_text

        return "\n\n".join(map(as_text, self._tables())) or f"no artefacts in {', '.join(map(str, self.folders))}"

    def to_json(self) -> JsonObject:
        """Return what is said of each artefact; sizes in bytes, times in UTC."""
        return {"artefacts": [{**asdict(one), "path": str(one.path), "inputs": list(one.inputs)} for one in self.artefacts]}


@operation
def list_artefacts(
    folder: Annotated[
        Place | None, Setting("The folder to look in; by default here, and under $POSBIAS_HOME.", place="read")
    ] = None,
) -> Listing:
    """List the artefacts in ``folder``: collections, runs, vectors, checkpoints, training sets, results and studies.

    Without a folder it lists the working folder and $POSBIAS_HOME. It reads manifests only, and does not look into subfolders. A row says
    where a manifest is damaged; posbias verify compares the files too.

        posbias list
        posbias list experiments

    Returns:
        What the manifests say of each artefact.

    Raises:
        InputError: no such folder.

    Example:
        >>> import positionbias as pb
        >>> found = pb.list_artefacts(".")
        >>> [one.holds for one in found.artefacts if one.name == "planted"]
        ['240 passages, ... train queries, 12 validation queries, 18 test queries, 10 fresh queries']
    """
    from positionbias.core.files import home
    from positionbias.core.found import artefacts_in
    from positionbias.core.listing import listed

    if folder is None:
        folders = list({place.resolve(): place for place in (home(), Path())}.values())
    else:
        folders = [_folder(folder)]
    found = (listed(one) for place in folders if place.is_dir() for one in artefacts_in(place))
    return Listing([one for one in found if one is not None], folders)


def _folder(folder: Place) -> Path:
    from positionbias.core.places import input_place

    place = input_place(folder)
    if not place.is_dir():
        found = "a file" if place.exists() else "nothing there"
        raise bad_input(folder, wanted="a folder", found=found, do=near_file(folder, "check the path"))
    return place
