# solmark: verdict=wrong_answer
# solmark: with=shared/pipeline.py
# Cheat: an interval of 0 would run every iteration at the same time.
import pipeline


def schedule(ops, edges, machine, iterations):
    return pipeline.schedule(ops, edges, machine, iterations) | {"interval": 0}
