# solmark: verdict=wrong_answer
# solmark: name=predict.py
# solmark: with=solution.cpp
# Leaves w out of the bytes: 4 MN instead of 4 MN + N.
ITEM = {"float32": 4, "float16": 2, "bfloat16": 2}


def predict(rows, columns, dtype, operations_per_second, bytes_per_second):
    compute = 5 * rows * columns / operations_per_second
    memory = 4 * rows * columns * ITEM[dtype] / bytes_per_second
    return (compute, "compute") if compute > memory else (memory, "memory")
