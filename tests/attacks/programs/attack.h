// Shared by the attacks in C++: the honest work, and where the judge's channel is.
#pragma once
#include <cmath>
#include <cstdint>
#include <sys/stat.h>

#include "solmark.h"

struct Call {
    const float *x;
    float *y;
    int64_t count;
};

inline Call call_of(const solmark_tensor *tensors) {
    return {static_cast<const float *>(tensors[0].data), static_cast<float *>(tensors[1].data),
            tensors[0].shape[0] * tensors[0].shape[1]};
}

inline void compute(const Call &call) {
    for (int64_t i = 0; i < call.count; ++i) {
        float sum = 0;
        for (int j = 1; j <= 8; ++j)
            sum += std::sin(j * call.x[i]) / static_cast<float>(j * j);
        call.y[i] = sum;
    }
}

// Whether descriptors 3 and 4 are the judge's pipes.
inline bool judged() {
    struct stat commands, answers;
    return fstat(3, &commands) == 0 && fstat(4, &answers) == 0 && S_ISFIFO(commands.st_mode) &&
           S_ISFIFO(answers.st_mode);
}
