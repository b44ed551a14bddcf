# solmark: verdict=wrong_answer
# solmark: with=shared/pipeline.py
# Adds a barrier of an operation for itself: nobody else arrives at it.
import pipeline


def schedule(ops, edges, machine, iterations):
    plan = pipeline.schedule(ops, edges, machine, iterations)
    name = ops[0]["name"]
    return plan | {"barriers": [*plan["barriers"], [name, name]]}
