// solmark: verdict=runtime_error
// Takes the strides for bytes: it reads and writes far outside its tensors and crashes.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "solmark.h"

struct bfloat16 {
    uint16_t bits;
    explicit bfloat16(float value) {
        uint32_t wide;
        std::memcpy(&wide, &value, 4);
        bits = static_cast<uint16_t>((wide + 0x7fff + ((wide >> 16) & 1)) >> 16);
    }
    explicit operator float() const {
        const uint32_t wide = static_cast<uint32_t>(bits) << 16;
        float value;
        std::memcpy(&value, &wide, 4);
        return value;
    }
};

template <class T> static void run(const solmark_tensor *t, float eps) {
    const int64_t rows = t[0].shape[0], columns = t[0].shape[1];
    const T *w = static_cast<const T *>(t[2].data);
    for (int64_t r = 0; r < rows; ++r) {
        const T *x = static_cast<const T *>(t[0].data) + (r + 1) * t[0].strides[0] * (int64_t(1) << 40);
        const T *res = static_cast<const T *>(t[1].data) + (r + 1) * t[1].strides[0] * (int64_t(1) << 40);
        T *y = static_cast<T *>(t[3].data) + (r + 1) * t[3].strides[0] * (int64_t(1) << 40);
        T *res_out = static_cast<T *>(t[4].data) + (r + 1) * t[4].strides[0] * (int64_t(1) << 40);
        float squares = 0;
        for (int64_t i = 0; i < columns; ++i) {
            res_out[i] = T(float(x[i]) + float(res[i]));
            squares += float(res_out[i]) * float(res_out[i]);
        }
        const float factor = 1 / std::sqrt(squares / float(columns) + eps);
        for (int64_t i = 0; i < columns; ++i)
            y[i] = T(float(res_out[i]) * factor * float(w[i]));
    }
}

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *scalars, int m, void *) {
    const float eps = float(solmark_real(scalars, m, "eps"));
    if (tensors[0].dtype == SOLMARK_FLOAT32)
        run<float>(tensors, eps);
    else if (tensors[0].dtype == SOLMARK_FLOAT16)
        run<_Float16>(tensors, eps);
    else
        run<bfloat16>(tensors, eps);
    return 0;
}
