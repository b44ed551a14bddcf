# solmark: verdict=wrong_answer
# solmark: with=shared/pipeline.py
# Plans the first load a second time, for the prologue.
import pipeline


def schedule(ops, edges, machine, iterations):
    plan = pipeline.schedule(ops, edges, machine, iterations)
    return plan | {"ops": [*plan["ops"], plan["ops"][0]]}
