// solmark: verdict=memory_limit
// solmark: with=grpo.py,shared/right.py
// Writes down all logits of all tokens.
#include <cmath>
#include <cstdint>
#include <vector>

#include "solmark.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    const float *h = static_cast<const float *>(tensors[0].data), *w = static_cast<const float *>(tensors[1].data);
    const int64_t *labels = static_cast<const int64_t *>(tensors[2].data);
    float *logp = static_cast<float *>(tensors[3].data);
    const int64_t tokens = tensors[0].shape[0], width = tensors[0].shape[1], words = tensors[1].shape[0];
    std::vector<double> logits(tokens * words);
#pragma omp parallel for
    for (int64_t t = 0; t < tokens; ++t) {
        double *row = logits.data() + t * words, largest = -INFINITY, total = 0;
        for (int64_t word = 0; word < words; ++word) {
            double sum = 0;
            for (int64_t i = 0; i < width; ++i)
                sum += static_cast<double>(h[t * width + i]) * w[word * width + i];
            row[word] = sum;
            largest = std::fmax(largest, sum);
        }
        for (int64_t word = 0; word < words; ++word)
            total += std::exp(row[word] - largest);
        logp[t] = static_cast<float>(row[labels[t]] - largest - std::log(total));
    }
    return 0;
}
