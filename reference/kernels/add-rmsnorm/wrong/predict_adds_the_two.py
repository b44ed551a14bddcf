# solmark: verdict=wrong_answer
# solmark: name=predict.py
# solmark: with=solution.cpp
# Predicts the sum of both times, as if nothing overlapped.
ITEM = {"float32": 4, "float16": 2, "bfloat16": 2}


def predict(rows, columns, dtype, operations_per_second, bytes_per_second):
    if not rows:
        return 0.0, "memory"
    compute = 5 * rows * columns / operations_per_second
    memory = (4 * rows * columns + columns) * ITEM[dtype] / bytes_per_second
    return compute + memory, "compute" if compute > memory else "memory"
