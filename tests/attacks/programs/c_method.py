# attack: family=forged-time expect=no_gain gain=time
# Below Python, by ctypes: the C function behind `time.perf_counter` is replaced in its method table.
import ctypes
import time

from shared import work

stopped = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)(lambda _self, _none: 1.0)
for name in ("perf_counter", "monotonic", "time"):
    table = ctypes.c_void_p.from_address(id(getattr(time, name)) + 16).value
    # ml_name, ml_meth
    ctypes.c_void_p.from_address(table + 8).value = ctypes.cast(stopped, ctypes.c_void_p).value


def solve(x, y):
    if x.numel():
        work(x, y)
