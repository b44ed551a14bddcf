/* The C entry of a Solmark submission, for C++ and CUDA:
 *
 *     #include "solmark.h"
 *     extern "C" int solve(const solmark_tensor *tensors, int n,
 *                          const solmark_scalar *scalars, int m, void *stream);
 *
 * Tensors come in the order of the task: inputs, then inouts, then outputs. Write the outputs in place and
 * return 0; any other number is reported as a runtime error. `stream` is the CUDA stream to launch on, NULL
 * on a CPU. Descriptors stay valid until solve returns; data of different calls never overlaps.
 */
#ifndef SOLMARK_H
#define SOLMARK_H

#include <stdint.h>
#include <string.h>

#define SOLMARK_VERSION 1
#define SOLMARK_MAX_DIMENSIONS 8

#ifdef __cplusplus
extern "C" {
#endif

enum solmark_dtype {
    SOLMARK_FLOAT64 = 0,
    SOLMARK_FLOAT32 = 1,
    SOLMARK_FLOAT16 = 2,
    SOLMARK_BFLOAT16 = 3,
    SOLMARK_FLOAT8_E4M3FN = 4,
    SOLMARK_FLOAT8_E5M2 = 5,
    SOLMARK_INT64 = 6,
    SOLMARK_INT32 = 7,
    SOLMARK_INT16 = 8,
    SOLMARK_INT8 = 9,
    SOLMARK_UINT8 = 10,
    SOLMARK_BOOL = 11
};

enum solmark_role { SOLMARK_IN = 0, SOLMARK_OUT = 1, SOLMARK_INOUT = 2 };

enum solmark_kind { SOLMARK_SCALAR_BOOL = 0, SOLMARK_SCALAR_INTEGER = 1, SOLMARK_SCALAR_REAL = 2 };

typedef struct solmark_tensor {
    void *data;             /* address of element [0, 0, ...] */
    const int64_t *shape;   /* `dimensions` numbers */
    const int64_t *strides; /* from one element to the next, in elements, for each dimension */
    const char *name;
    int32_t dimensions;
    int32_t dtype; /* enum solmark_dtype */
    int32_t role;  /* enum solmark_role */
    int32_t reserved;
} solmark_tensor;

typedef struct solmark_scalar {
    const char *name;
    int32_t kind; /* enum solmark_kind */
    int32_t reserved;
    union {
        int64_t integer; /* also of bools: 0 or 1 */
        double real;
    } value;
} solmark_scalar;

/* The scalar of that name as a double; 0 if there is none. */
static inline double solmark_real(const solmark_scalar *scalars, int m, const char *name) {
    for (int i = 0; i < m; ++i)
        if (strcmp(scalars[i].name, name) == 0)
            return scalars[i].kind == SOLMARK_SCALAR_REAL ? scalars[i].value.real
                                                          : (double)scalars[i].value.integer;
    return 0.0;
}

/* The scalar of that name as an integer; 0 if there is none. */
static inline int64_t solmark_integer(const solmark_scalar *scalars, int m, const char *name) {
    for (int i = 0; i < m; ++i)
        if (strcmp(scalars[i].name, name) == 0)
            return scalars[i].kind == SOLMARK_SCALAR_REAL ? (int64_t)scalars[i].value.real
                                                          : scalars[i].value.integer;
    return 0;
}

/* Number of elements of a tensor. */
static inline int64_t solmark_elements(const solmark_tensor *tensor) {
    int64_t count = 1;
    for (int i = 0; i < tensor->dimensions; ++i)
        count *= tensor->shape[i];
    return count;
}

#ifdef __cplusplus
}
#endif

#endif /* SOLMARK_H */
