"""The bound of a call. Hand in with your kernel: solmark grade kernels/add-rmsnorm solution.py predict.py"""


def predict(
    rows: int, columns: int, dtype: str, operations_per_second: float, bytes_per_second: float
) -> tuple[float, str]:
    """Least seconds that any implementation needs on such a machine, and "memory" or "compute": what binds it."""
    return -1.0, "memory"  # Your work begins here.
