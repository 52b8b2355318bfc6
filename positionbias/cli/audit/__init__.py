"""``posbias audit`` and ``posbias check``: is a model or run position-biased, and does it keep given limits?"""

from positionbias.cli.audit.audit import audit
from positionbias.cli.audit.check import check

__all__ = ["audit", "check"]
