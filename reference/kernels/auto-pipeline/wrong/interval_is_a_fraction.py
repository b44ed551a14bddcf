# solmark: verdict=wrong_answer
# solmark: with=shared/pipeline.py
# Returns an interval that is no integer.
import pipeline


def schedule(ops, edges, machine, iterations):
    plan = pipeline.schedule(ops, edges, machine, iterations)
    return plan | {"interval": plan["interval"] + 0.5}
