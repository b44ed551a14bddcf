"""What simulators share: an event loop in whole nanoseconds, and what a step of an inference engine takes."""
