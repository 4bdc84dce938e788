"""Models held against the simulator: `airwatt model NAME --validate`.

A validation runs the situation that a model describes, at points over the region where it is said to hold, and puts the
model's figures beside those of the runs. Each figure has a stated accuracy, which the same command and a test check.
What the model cannot know of a run beforehand (the rate that a connection got) is taken from the run.

Left out: regions in which a model is known not to hold; its page in `docs/models` says which.
"""

from airwatt.validate import air, bursts, connections, energy, power_save, uploads
from airwatt.validate.cases import Validation
from airwatt.validate.engine import Validated, validate

ALL: dict[str, Validation] = {
    validation.model: validation
    for module in (air, connections, uploads, bursts, power_save, energy)
    for validation in module.VALIDATIONS
}
"""The validations by the names of their models."""

__all__ = ["ALL", "Validated", "Validation", "validate"]
