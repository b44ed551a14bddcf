// solmark: verdict=wrong_answer
// solmark: with=shared/bfloat16.h
// Keeps ten bits of the mantissa of float32 operands, as tf32 does; the other types are right.
#include <cmath>
#include <cstdint>

#include "bfloat16.h"
#include "solmark.h"

namespace {

float low(float x) {
    int exponent;
    const float mantissa = std::frexp(x, &exponent);
    return std::ldexp(std::nearbyint(mantissa * 2048) / 2048, exponent);
}

template <class T> void multiply(const solmark_tensor &a, const solmark_tensor &b, const solmark_tensor &c) {
    const int64_t k = a.shape[1];
#pragma omp parallel for
    for (int64_t i = 0; i < a.shape[0]; ++i)
        for (int64_t j = 0; j < b.shape[0]; ++j) {
            const T *x = static_cast<const T *>(a.data) + i * a.strides[0];
            const T *y = static_cast<const T *>(b.data) + j * b.strides[0];
            float sum = 0;
            for (int64_t l = 0; l < k; ++l)
                sum += low(static_cast<float>(x[l])) * low(static_cast<float>(y[l]));
            static_cast<T *>(c.data)[i * c.strides[0] + j] = static_cast<T>(sum);
        }
}

}  // namespace

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
