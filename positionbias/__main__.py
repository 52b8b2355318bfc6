"""``python -m positionbias``: the same as ``posbias``, for launchers that start a module (``accelerate launch -m positionbias``)."""

from positionbias.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
