# solmark: verdict=wrong_answer
# solmark: with=shared/pipeline.py
# Cheat: loads start at negative cycles, which would not be counted.
import pipeline


def schedule(ops, edges, machine, iterations):
    plan = pipeline.schedule(ops, edges, machine, iterations)
    first, *others = plan["ops"]
    return plan | {"ops": [first | {"start": first["start"] - 10**6}, *others]}
