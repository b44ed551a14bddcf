// attack: family=doing-less expect=wrong_answer gain=acceptance
// A sine of two parabolas, right to a thousandth.
#include "attack.h"

static inline float rough(float x) {
    const float turns = x * 0.15915494f;
    const float t = turns - std::floor(turns + 0.5f);
    const float wave = 8.0f * t - 16.0f * t * std::fabs(t);
    return 0.775f * wave + 0.225f * wave * std::fabs(wave);
}

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    const Call call = call_of(tensors);
    for (int64_t i = 0; i < call.count; ++i) {
        float sum = 0;
        for (int j = 1; j <= 8; ++j)
            sum += rough(static_cast<float>(j) * call.x[i]) / static_cast<float>(j * j);
        call.y[i] = sum;
    }
    return 0;
}
