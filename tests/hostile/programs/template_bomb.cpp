// hostile: family=build verdict=time_limit lift=wall shows=alive
// Templates that double at every level: the compiler never ends. Each leaf counts for a while, so that a fast compiler is
// late before it is out of memory.
#include "solmark.h"
constexpr long count(long from) {
    for (int round = 0; round < 100'000; ++round)
        from = from * 3 % 1'000'003;
    return from;
}
template <int depth, int path> struct Tree {
    static constexpr long value = Tree<depth - 1, 2 * path>::value + Tree<depth - 1, 2 * path + 1>::value;
};
template <int path> struct Tree<0, path> {
    static constexpr long value = count(path);
};
static_assert(Tree<28, 1>::value != 0, "");

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    const float *x = static_cast<const float *>(t[0].data);
    float *y = static_cast<float *>(t[1].data);
    for (int64_t i = 0; i < t[0].shape[0] * t[0].shape[1]; ++i)
        y[i] = 2 * x[i];
    return 0;
}
