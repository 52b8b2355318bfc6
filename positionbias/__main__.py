"""``posbias`` and ``python -m positionbias``, for launchers that start a module (``accelerate launch -m positionbias``)."""

import os
import sys

from positionbias.core.stopping import leave_at_once
from positionbias.core.threads import share_the_machine

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say in one line why it cannot start: Python itself would exit 1, which means a failed check."""
    leave_at_once()
    share_the_machine(os.environ)
    try:
        from positionbias.cli.main import main as run
    except Exception as error:
        sys.stderr.write(
            f"posbias: cannot start: {type(error).__name__}: {error}; install positionbias and its packages again\n"
        )
        sys.exit(70)
    run()


if __name__ == "__main__":
    main()
