# solmark: verdict=wrong_answer
# solmark: with=shared/pipeline.py
# Leaves the last operation out of the plan.
import pipeline


def schedule(ops, edges, machine, iterations):
    plan = pipeline.schedule(ops, edges, machine, iterations)
    return plan | {"ops": plan["ops"][:-1]}
