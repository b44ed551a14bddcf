# solmark: verdict=wrong_answer
# solmark: with=shared/pipeline.py
# Ignores edges that come from an earlier iteration.
import pipeline


def schedule(ops, edges, machine, iterations):
    return pipeline.schedule(ops, [e for e in edges if not e["distance"]], machine, iterations)
