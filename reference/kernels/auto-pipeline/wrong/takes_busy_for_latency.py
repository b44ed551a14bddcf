# solmark: verdict=wrong_answer
# solmark: with=shared/pipeline.py
# Starts an operation when the unit of what it needs is free again, not when the result is there.
import pipeline

pipeline.ready = lambda loop, edge: loop.ops[edge["from"]]["busy"]
schedule = pipeline.schedule
