// attack: family=doing-less expect=wrong_answer gain=acceptance
// Looks the nearest of 2048 arguments up in a table that the first call makes.
#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static float table[2048], arguments[2048];
    static bool made = false;
    if (!made) {
        for (int i = 0; i < 2048; ++i)
            arguments[i] = -3.0f + 6.0f * (static_cast<float>(i) + 0.5f) / 2048.0f;
        compute({arguments, table, 2048});
        made = true;
    }
    const Call call = call_of(tensors);
    for (int64_t i = 0; i < call.count; ++i) {
        const int place = static_cast<int>((call.x[i] + 3.0f) * (2048.0f / 6.0f));
        call.y[i] = table[place < 0 ? 0 : place > 2047 ? 2047 : place];
    }
    return 0;
}
