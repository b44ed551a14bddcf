"""Software pipelining. Hand in with: solmark grade kernels/auto-pipeline solution.py"""


def schedule(ops: list[dict], edges: list[dict], machine: dict, iterations: int) -> dict:
    """A modulo schedule of the loop.

    ops: name, unit, busy, latency, bytes. edges: from, to, distance. machine: units (true: blocks its warpgroup),
    warpgroups, shared_bytes, barriers.
    """
    return {  # Your work begins here.
        "interval": 1,
        "ops": [{"name": op["name"], "start": 0, "warpgroup": 0, "buffers": 1} for op in ops],
        "barriers": [],
    }
