# solmark: verdict=wrong_answer
# solmark: with=shared/pipeline.py
# Splits warpgroups by unit although results in registers cannot cross.
import pipeline


def by_unit(loop):
    units = sorted(loop.machine["units"])
    last = loop.machine["warpgroups"] - 1
    return {name: min(units.index(op["unit"]), last) for name, op in loop.ops.items()}


pipeline.warpgroups = by_unit
schedule = pipeline.schedule
