"""The judge's steps on a CUDA device: arena, fill, watchdog, gather, audit, and the clock over them.

torch and cuda-bindings are imported inside functions: everything else of the grader runs without either.
"""
