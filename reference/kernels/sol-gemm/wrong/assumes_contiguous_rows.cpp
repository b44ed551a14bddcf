// solmark: verdict=wrong_answer
// solmark: with=shared/bfloat16.h
// Takes the width of a matrix for the distance of its rows.
#include <cstdint>

#include "bfloat16.h"
#include "solmark.h"

template <class T> static void multiply(const solmark_tensor &a, const solmark_tensor &b, const solmark_tensor &c) {
    const int64_t n = c.shape[1], k = a.shape[1];
    for (int64_t i = 0; i < c.shape[0]; ++i)
        for (int64_t j = 0; j < n; ++j) {
            const T *x = static_cast<const T *>(a.data) + i * k, *y = static_cast<const T *>(b.data) + j * k;
            double sum = 0;
            for (int64_t l = 0; l < k; ++l)
                sum += static_cast<double>(static_cast<float>(x[l])) * static_cast<float>(y[l]);
            static_cast<T *>(c.data)[i * n + j] = static_cast<T>(static_cast<float>(sum));
        }
}

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    const solmark_tensor &a = tensors[0], &b = tensors[1], &c = tensors[2];
    if (a.dtype == SOLMARK_FLOAT32)
        multiply<float>(a, b, c);
    else if (a.dtype == SOLMARK_FLOAT16)
        multiply<_Float16>(a, b, c);
    else
        multiply<bfloat16>(a, b, c);
    return 0;
}
