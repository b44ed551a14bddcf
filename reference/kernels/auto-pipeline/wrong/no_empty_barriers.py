# solmark: verdict=wrong_answer
# solmark: with=shared/pipeline.py
# Waits until a buffer is full, never until it is empty.
import pipeline

both = pipeline.barriers
pipeline.barriers = lambda loop: {
    pair for pair in both(loop) if any((e["from"], e["to"]) == pair for e in loop.edges)
}
schedule = pipeline.schedule
