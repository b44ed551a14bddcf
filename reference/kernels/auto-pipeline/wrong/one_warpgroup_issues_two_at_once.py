# solmark: verdict=wrong_answer
# solmark: with=shared/pipeline.py
# Forgets that a warpgroup issues one operation a cycle, and none during its own arithmetic.
import pipeline

pipeline.fits = lambda loop, op, at, unit, issue, interval: pipeline.clear(unit, at, op["busy"], interval)
schedule = pipeline.schedule
