# solmark: verdict=wrong_answer
# solmark: with=shared/pipeline.py
# Cheat: plans as if every result were there at once and units needed a cycle.
import pipeline


def schedule(ops, edges, machine, iterations):
    free = [op | {"busy": 1, "latency": 1} for op in ops]
    return pipeline.schedule(free, edges, machine, iterations)
