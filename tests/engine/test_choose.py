"""The engine that a command was asked for; a wrong wish is one line."""

from __future__ import annotations

import importlib.util
import math
import socket
import sys
import threading

import pytest

from positionbias.core.errors import DependencyError, SettingError
from positionbias.engine.choose import ENGINES, Engine, open_engine


def choose(engine: str, workers: int = 1, address: str | None = None) -> None:
    with open_engine(engine, workers, address):
        pass


@pytest.mark.parametrize("workers", [1, 2])
def test_the_local_engine_maps(workers: int) -> None:
    with open_engine("local", workers) as map_shards:
        assert list(map_shards(math.factorial, [3, 1, 4])) == [6, 1, 24]


@pytest.mark.parametrize("engine", ["spark", "local:1", "ray:"])
def test_an_unknown_engine_names_the_known_ones(engine: str) -> None:
    with pytest.raises(SettingError, match=r"^--engine: wanted local, ray or ray:ADDRESS; found"):
        Engine(engine=engine)


def test_the_environment_chooses_where_nobody_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (Engine().name, Engine().address) == ("local", None)
    monkeypatch.setenv("POSBIAS_ENGINE", "ray:head:6379")
    assert (Engine().name, Engine().address) == ("ray", "head:6379")
    assert Engine(engine="local").name == "local"
    monkeypatch.setenv("POSBIAS_ENGINE", "spark")
    with pytest.raises(SettingError, match=r"^\$POSBIAS_ENGINE: wanted local, ray or ray:ADDRESS"):
        Engine().open()


@pytest.mark.parametrize("engine", ENGINES)
def test_workers_below_one_name_the_flag(engine: str) -> None:
    with pytest.raises(SettingError, match="--workers: wanted at least 1; found 0"):
        choose(engine, 0)


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        DependencyError,
        match=r"--engine ray: wanted the package ray; .*pip install 'positionbias\[ray\]'$",
    ):
        choose("ray")


@pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason="ray is not installed: pip install 'positionbias[ray]'",
)
def test_an_address_where_no_ray_answers_is_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]

        def answer() -> None:
            with silent.accept()[0] as caller:
                caller.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        cases = ((f"127.0.0.1:{port}", "something that is not Ray"), ("head", "invalid literal"))
        for address, found in cases:
            with (
                pytest.raises(
                    SettingError,
                    match=(
                        rf"^--address: wanted HOST:PORT of a Ray cluster; found at '{address}': "
                        rf".*{found}"
                    ),
                ),
                open_engine("ray", 1, address),
            ):
                pass
    with pytest.raises(SettingError, match="refused"), open_engine("ray", 1, f"127.0.0.1:{port}"):
        pass
