"""``posbias`` and ``python -m positionbias``, for launchers that start a module
(``accelerate launch -m positionbias``).
"""

import os
import sys

from positionbias.core.process import address_space, leave_at_once, share_the_machine

# bytes: with less, libraries wait for threads forever, or end the process with exit codes of their
# own
LEAST = 1 << 30


def main() -> None:
    """Run the command line, or say in one line why it cannot start: Python itself would exit 1,
    which means a failed check.
    """
    leave_at_once()
    if (limit := address_space()) is not None:
        # its own takes 1 GiB of addresses at once
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if limit is not None and limit < LEAST:
        sys.stderr.write(
            f"posbias: the limit of addresses (ulimit -v) is {limit >> 10:,} KB, and libraries "
            f"need {LEAST >> 10:,} KB; raise it, or limit memory by a control group instead\n"
        )
        sys.exit(2)
    share_the_machine(os.environ)
    try:
        from positionbias.cli.main import main as run
    except Exception as error:
        sys.stderr.write(
            f"posbias: cannot start: {type(error).__name__}: {error}; install positionbias and its "
            "packages again\n"
        )
        sys.exit(70)
    run()


if __name__ == "__main__":
    main()
