// solmark: verdict=accepted
// One pass over memory: a row's sum is kept in float32 in the first- or second-level cache while its squares are
// added, then scaled from there. Outputs bypass the cache with streaming stores, which saves reading their lines
// first. Each of the three types has its own vector load and store.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "solmark.h"

#if defined(__AVX2__) && defined(__F16C__) && defined(__FMA__)
#include <immintrin.h>
#define SOLMARK_VECTORS 1
#endif

namespace {

struct Float32 {
    using Type = float;
    static float get(Type value) { return value; }
    static Type put(float value) { return value; }
#ifdef SOLMARK_VECTORS
    static __m256 load(const Type *from) { return _mm256_loadu_ps(from); }
    template <bool stream> static void store(Type *to, __m256 value) {
        stream ? _mm256_stream_ps(to, value) : _mm256_storeu_ps(to, value);
    }
#endif
};

struct Float16 {
    using Type = _Float16;
    static float get(Type value) { return static_cast<float>(value); }
    static Type put(float value) { return static_cast<Type>(value); }
#ifdef SOLMARK_VECTORS
    static __m256 load(const Type *from) {
        return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from)));
    }
    template <bool stream> static void store(Type *to, __m256 value) {
        const __m128i bits = _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        stream ? _mm_stream_si128(reinterpret_cast<__m128i *>(to), bits)
               : _mm_storeu_si128(reinterpret_cast<__m128i *>(to), bits);
    }
#endif
};

struct BFloat16 {
    using Type = uint16_t;
    static float get(Type value) {
        const uint32_t bits = static_cast<uint32_t>(value) << 16;
        float result;
        std::memcpy(&result, &bits, sizeof result);
        return result;
    }
    static Type put(float value) {
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        if ((bits & 0x7fffffffu) > 0x7f800000u)
            return static_cast<Type>((bits >> 16) | 0x40u);
        return static_cast<Type>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
    }
#ifdef SOLMARK_VECTORS
    static __m256 load(const Type *from) {
        const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
    }
    template <bool> static void store(Type *to, __m256 value) {
        alignas(32) float values[8];
        _mm256_store_ps(values, value);
        for (int i = 0; i < 8; ++i)
            to[i] = put(values[i]);
    }
#endif
};


// res_out = x + res rounded to T, also kept in `total` as float32; returns the sum of its squares.
template <class T, bool stream>
float add(const typename T::Type *x, const typename T::Type *res, typename T::Type *res_out, float *total,
          int64_t columns) {
    int64_t i = 0;
    float squares = 0;
#ifdef SOLMARK_VECTORS
    __m256 sums[4] = {};
    for (; i + 32 <= columns; i += 32)
        for (int k = 0; k < 4; ++k) {
            const int64_t at = i + 8 * k;
            __m256 value = _mm256_add_ps(T::load(x + at), T::load(res + at));
            if constexpr (sizeof(typename T::Type) == 2) {
                typename T::Type rounded[8];
                T::template store<false>(rounded, value);
                value = T::load(rounded);
            }
            T::template store<stream>(res_out + at, value);
            _mm256_storeu_ps(total + at, value);
            sums[k] = _mm256_fmadd_ps(value, value, sums[k]);
        }
    alignas(32) float lanes[8];
    _mm256_store_ps(lanes, _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3])));
    for (const float lane : lanes)
        squares += lane;
#endif
    for (; i < columns; ++i) {
        res_out[i] = T::put(T::get(x[i]) + T::get(res[i]));
        total[i] = T::get(res_out[i]);
        squares += total[i] * total[i];
    }
    return squares;
}

template <class T, bool stream>
void scale(const float *total, const float *w, typename T::Type *y, float factor, int64_t columns) {
    int64_t i = 0;
#ifdef SOLMARK_VECTORS
    const __m256 factors = _mm256_set1_ps(factor);
    for (; i + 8 <= columns; i += 8) {
        const __m256 value = _mm256_mul_ps(_mm256_loadu_ps(total + i), factors);
        T::template store<stream>(y + i, _mm256_mul_ps(value, _mm256_loadu_ps(w + i)));
    }
#endif
    for (; i < columns; ++i)
        y[i] = T::put(total[i] * factor * w[i]);
}

template <class T> bool aligned(const typename T::Type *at) {
    return reinterpret_cast<uintptr_t>(at) % (8 * sizeof(typename T::Type)) == 0;
}

template <class T> void run(const solmark_tensor *tensors, float eps) {
    using Type = typename T::Type;
    const int64_t rows = tensors[0].shape[0], columns = tensors[0].shape[1];
    const auto row = [tensors](int which, int64_t index) {
        return static_cast<Type *>(tensors[which].data) + index * tensors[which].strides[0];
    };
    std::vector<float> w(columns);
    for (int64_t i = 0; i < columns; ++i)
        w[i] = T::get(static_cast<const Type *>(tensors[2].data)[i]);
#pragma omp parallel
    {
        std::vector<float> total(columns);
#pragma omp for schedule(static)
        for (int64_t r = 0; r < rows; ++r) {
            Type *const y = row(3, r), *const res_out = row(4, r);
            const float squares = aligned<T>(res_out)
                                      ? add<T, true>(row(0, r), row(1, r), res_out, total.data(), columns)
                                      : add<T, false>(row(0, r), row(1, r), res_out, total.data(), columns);
            const float factor = 1.0f / std::sqrt(squares / static_cast<float>(columns) + eps);
            aligned<T>(y) ? scale<T, true>(total.data(), w.data(), y, factor, columns)
                          : scale<T, false>(total.data(), w.data(), y, factor, columns);
        }
#ifdef SOLMARK_VECTORS
        _mm_sfence();
#endif
    }
}

}  // namespace

extern "C" int solve(const solmark_tensor *tensors, int n, const solmark_scalar *scalars, int m, void *) {
    if (n != 5)
        return 1;
    const float eps = static_cast<float>(solmark_real(scalars, m, "eps"));
    switch (tensors[0].dtype) {
    case SOLMARK_FLOAT32:
        run<Float32>(tensors, eps);
        return 0;
    case SOLMARK_FLOAT16:
        run<Float16>(tensors, eps);
        return 0;
    case SOLMARK_BFLOAT16:
        run<BFloat16>(tensors, eps);
        return 0;
    default:
        return 2;
    }
}
