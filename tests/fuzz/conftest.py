"""A fixed budget: in CI so many examples, always the same; FUZZ_EXAMPLES asks for more, then at random."""

import os

from hypothesis import HealthCheck, settings

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "0"))

settings.register_profile(
    "fuzz",
    max_examples=EXAMPLES or 400,
    derandomize=not EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
