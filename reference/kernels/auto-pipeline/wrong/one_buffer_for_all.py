# solmark: verdict=wrong_answer
# solmark: with=shared/pipeline.py
# Gives every result one buffer.
import pipeline

pipeline.buffers = lambda loop, name, interval, start: 1
schedule = pipeline.schedule
