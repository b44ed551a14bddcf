// The fastest copy, read and multiply-add loops that a candidate on this CPU could be written with.
// Compiled by `grader.hardware.ceilings`; called through ctypes. Sizes are multiples of 64 bytes, pointers aligned to 64.

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
typedef float Vector __attribute__((vector_size(kLanes * 4)));
typedef uint64_t Words __attribute__((vector_size(kLanes * 4)));

// A store that does not first read the line it overwrites: a copy then moves each byte twice, not three times.
inline void stream(Words *to, Words value) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i *>(to), reinterpret_cast<__m512i>(value));
#elif defined(__AVX__)
  _mm256_stream_si256(reinterpret_cast<__m256i *>(to), reinterpret_cast<__m256i>(value));
#elif defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i *>(to), reinterpret_cast<__m128i>(value));
#else
  *to = value;
#endif
}

}  // namespace

extern "C" {

// Copies `bytes` from `from` to `to` with streaming stores, in one part for each OpenMP thread.
void ceiling_copy(void *to, const void *from, size_t bytes) {
  const ptrdiff_t count = static_cast<ptrdiff_t>(bytes / sizeof(Words));
  Words *out = static_cast<Words *>(to);
  const Words *in = static_cast<const Words *>(from);
#pragma omp parallel for schedule(static)
  for (ptrdiff_t i = 0; i < count; ++i) stream(out + i, in[i]);
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// Reads `bytes` once; returns their xor, so that no load can be left out.
uint64_t ceiling_read(const void *from, size_t bytes) {
  const ptrdiff_t count = static_cast<ptrdiff_t>(bytes / sizeof(Words)) / 4 * 4;
  const Words *in = static_cast<const Words *>(from);
  uint64_t result = 0;
#pragma omp parallel reduction(^ : result)
  {
    Words a = {}, b = {}, c = {}, d = {};
#pragma omp for schedule(static)
    for (ptrdiff_t i = 0; i < count; i += 4) {
      a ^= in[i];
      b ^= in[i + 1];
      c ^= in[i + 2];
      d ^= in[i + 3];
    }
    a ^= b ^ c ^ d;
    for (size_t lane = 0; lane < sizeof(Words) / sizeof(uint64_t); ++lane) result ^= a[lane];
  }
  return result;
}

// `rounds` rounds of twelve independent multiply-adds of whole vectors on each OpenMP thread, all in registers.
// Returns a value that depends on all of them; `operations` gets the number of floating-point operations.
float ceiling_fma(int64_t rounds, double *operations) {
  float result = 0;
  double total = 0;
#pragma omp parallel reduction(+ : result, total)
  {
    Vector sums[12];
    for (int i = 0; i < 12; ++i)
      for (int lane = 0; lane < kLanes; ++lane) sums[i][lane] = 0.001f * static_cast<float>(i + lane);
    Vector scale, shift;
    for (int lane = 0; lane < kLanes; ++lane) {
      scale[lane] = 0.9999f;
      shift[lane] = 0.0001f;
    }
    for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
      for (int i = 0; i < 12; ++i) sums[i] = sums[i] * scale + shift;
    }
    for (int i = 0; i < 12; ++i)
      for (int lane = 0; lane < kLanes; ++lane) result += sums[i][lane];
    total += 2.0 * 12 * kLanes * static_cast<double>(rounds);
  }
  *operations = total;
  return result;
}

}  // extern "C"
