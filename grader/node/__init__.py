"""A grading node: fetches what a job needs, runs the judge in its own process, keeps Reports until stored."""
