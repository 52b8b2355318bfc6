"""The audit from Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pandas.testing import assert_frame_equal

import positionbias
from positionbias.audit.answers import Preference, Question
from positionbias.audit.settings import (
    Audited,
    AuditSettings,
    Limits,
)
from positionbias.audit.words import sentences_of
from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.manifest import read_manifest
from positionbias.core.rows import load, load_values
from positionbias.core.terminal import lines_of
from positionbias.planted.settings import PlantedSettings
from positionbias.report.page import load_study
from tests.audit.bags import bag_checkpoint
from tests.audit.scorers import blind, front_lover
from tests.tiny import candidates, planted

SETTINGS = AuditSettings(needles=30, depth=5)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    settings = PlantedSettings(
        queries=120, passages=250, test_share=0.5, validation_share=0.1, front_loading=0.3
    )
    return planted(tmp_path_factory.mktemp("api") / "planted", settings)


@pytest.fixture(scope="module")
def found(collection: Collection) -> positionbias.Audit:
    return positionbias.audit_model([blind, front_lover], collection, settings=SETTINGS)


def test_functions_are_audited_under_their_names_beside_the_first_stage(
    found: positionbias.Audit,
) -> None:
    frame = found.to_frame()
    assert_frame_equal(frame, found.rows)
    assert {"blind", "front_lover"} <= set(frame.model)
    means = frame[frame.measure == "nDCG@10"].pivot_table(
        "value", "model", "statistic", observed=True
    )
    changes = (means["rotated once"] - means["as it is"]).abs()
    assert changes["blind"] < changes["front_lover"]


def test_verdicts_are_typed_and_in_words(found: positionbias.Audit) -> None:
    passage, order = (found.verdicts[place::2] for place in (0, 1))
    assert [one.question for one in found.verdicts] == [Question.PASSAGE, Question.LIST] * 2
    assert [one.preference for one in passage] == [Preference.NONE, Preference.FRONT]
    assert [one.preference for one in order] == [Preference.NONE] * 2
    assert passage[1].effects[0].value is not None
    assert passage[1].effects[0].value < -0.5  # of the worth
    lines = found.verdict.splitlines()
    names = ("blind", "front_lover")
    said = [
        sentences_of(names[place // 2], verdict) for place, verdict in enumerate(found.verdicts)
    ]
    assert lines[:2] == [sentences[0] for sentences in said[::2]]  # on the passage
    assert all(sentence in found.verdict for sentences in said for sentence in sentences)
    assert (
        lines[0]
        == "blind: no preference: its scores do not change when the answer moves (30 queries)."
    )
    assert any(line.startswith("front_lover prefers the front: end − front −") for line in lines)


def test_a_collection_by_its_place_gives_the_same(
    collection: Collection, found: positionbias.Audit
) -> None:
    again = positionbias.audit_model([blind, front_lover], collection.path, settings=SETTINGS)
    assert_frame_equal(again.rows, found.rows)
    assert_frame_equal(again.values, found.values)


def test_what_was_found_is_saved_and_reported(found: positionbias.Audit, tmp_path: Path) -> None:
    place = found.save(tmp_path / "found")
    assert_frame_equal(load(place), found.rows)
    assert_frame_equal(load_values(place), found.values)
    again = positionbias.load(place)
    assert isinstance(again, positionbias.Audit)
    assert again.verdicts == found.verdicts
    manifest = read_manifest(place, kind="results")
    assert (manifest.name, manifest.command) == ("Audit of blind, front_lover on planted", "audit")
    assert [item.role for item in manifest.inputs] == ["collection"]  # functions lie nowhere
    with lines_of(None):
        assert str(found).startswith(found.verdict.splitlines()[0])
    assert load_study(place).title == manifest.name


def test_a_run_and_its_rotation_are_audited_by_the_operation(
    collection: Collection, tmp_path: Path
) -> None:
    run = candidates(collection, tmp_path)["test"]
    settings = SETTINGS
    audited = positionbias.audit_systems(collection, [run], settings=settings)
    assert {verdict.preference for verdict in audited.verdicts} == {Preference.UNKNOWN}
    assert [read.role for read in audited.read] == ["collection", "run"]
    with pytest.raises(SettingError, match="audit: wanted a model or a run; found neither"):
        positionbias.audit_systems(collection)
    with pytest.raises(
        SettingError,
        match=r"--rotated: wanted the run over the rotated collection; found .*, the run over",
    ):
        positionbias.audit_systems(
            collection, [run], audited=Audited(rotated=[(collection.path, run)])
        )
    with pytest.raises(
        SettingError,
        match="--out: wanted a place apart from what is read; found .*, which is the input",
    ):
        positionbias.audit_systems(
            collection, audited=Audited(models=[blind], candidates=run), out=run, overwrite=True
        )


def test_limits_are_checked_from_python(collection: Collection) -> None:
    checked = positionbias.check(
        collection,
        limits=Limits(max_response=0.05),
        audited=Audited(models=[blind, front_lover]),
        settings=SETTINGS,
    )
    assert [(one.system, one.outcome) for one in checked.checks] == [
        ("blind", "pass"),
        ("front_lover", "fail"),
    ]
    assert checked.outcome == "fail"
    verdict = checked.verdict
    with lines_of(None):
        assert str(checked) == verdict
    assert [line.split(" (")[0] for line in verdict.splitlines()] == [
        "Limits on position bias: fail", "blind: passes --max-response 0.05",
        "front_lover: fails --max-response 0.05",
    ]  # fmt: skip
    assert verdict.startswith("Limits on position bias: fail (2 systems: 1 pass, 1 fail).\n")


def test_a_transformer_object_is_audited_as_it_is(collection: Collection) -> None:
    class Transformer:
        """As PyTerrier's: a frame in, a frame with scores out."""

        def transform(self, frame: Any) -> Any:
            return frame.assign(
                score=[
                    blind(query, [text])[0]
                    for query, text in zip(frame["query"], frame["text"], strict=True)
                ]
            )

    def as_function(query: str, passages: Sequence[str]) -> list[float]:
        return blind(query, passages)

    pair = positionbias.audit_model(
        [Transformer(), as_function], collection, settings=SETTINGS
    ).to_frame()
    one, other = (
        pair[pair.model == name].drop(columns=["row", "model"]).reset_index(drop=True)
        for name in ("Transformer", "as_function")
    )
    assert len(one) > 20
    assert_frame_equal(one, other)


def test_a_retriever_over_the_whole_collection_from_python(collection: Collection) -> None:
    settings = replace(SETTINGS, depth=20, retrieve=True)
    found = positionbias.audit_model(bag_checkpoint("front", 15), collection, settings=settings)
    # fifteen words of passages of forty: all is over the limit, which is no preference; within it
    # evidence and placebo are compared
    passage = found.verdicts[0]
    assert (passage.preference, passage.within, passage.unread) == (
        Preference.UNREAD,
        Preference.NONE,
        1,
    )
    assert sentences_of("front, whole collection", passage)[0].startswith(
        "front, whole collection loses what stands behind its tokenizer's limit: −"
    )
    assert "front, whole collection: no preference, within what it reads" in found.verdict
    over_all = next(effect for effect in passage.effects if not effect.subset)
    assert over_all.value is not None
    assert over_all.value == pytest.approx(-1, abs=0.15)  # nothing of the worth is left
    assert "nDCG@10" in set(found.to_frame().measure)
    with pytest.raises(
        SettingError,
        match="--model: wanted a model with one vector a text .*; found blind, of kind function",
    ):
        positionbias.audit_model(blind, collection, settings=settings)
