# solmark: verdict=wrong_answer
# solmark: with=shared/pipeline.py
# Forgets that a unit does one thing at a time.
import pipeline

pipeline.fits = lambda loop, op, at, unit, issue, interval: pipeline.clear(
    issue, at, pipeline.holds(loop, op), interval
)
schedule = pipeline.schedule
