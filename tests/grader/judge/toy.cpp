// A submission for the judge's own tests: y = 3 x, or whatever `mode` asks for.
#include <chrono>
#include <cstdint>
#include <thread>

#include "solmark.h"

namespace {

int calls = 0;

void triple(const solmark_tensor *tensors) {
    const int64_t rows = tensors[0].shape[0], columns = tensors[0].shape[1];
    for (int64_t row = 0; row < rows; ++row) {
        const float *x = static_cast<const float *>(tensors[0].data) + row * tensors[0].strides[0];
        float *y = static_cast<float *>(tensors[1].data) + row * columns;
        for (int64_t i = 0; i < columns; ++i)
            y[i] = 3 * x[i];
    }
}

}  // namespace

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *scalars, int m, void *) {
    const int64_t count = tensors[0].shape[0] * tensors[0].shape[1];
    const int64_t mode = solmark_integer(scalars, m, "mode");
    ++calls;
    if (mode == 1) {  // skips the fifth call
        if (calls == 5)
            return 0;
    } else if (mode == 2) {  // writes to its input
        const_cast<float *>(static_cast<const float *>(tensors[0].data))[7] = 0;
    } else if (mode == 3) {  // writes behind its output
        static_cast<float *>(tensors[1].data)[count] = 0;
    } else if (mode == 4) {  // slow at first
        if (calls < 4)
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
    } else if (mode == 5) {  // never ends, from the third call on
        for (volatile int i = 0; calls > 2; i = i + 1) {
        }
    } else if (mode == 6 && calls == 1) {  // leaves a thread that computes for ever
        std::thread([] {
            for (volatile int i = 0;; i = i + 1) {
            }
        }).detach();
    } else if (mode == 9) {  // takes its time
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
    } else if (mode == 10) {  // never ends
        for (volatile int i = 0;; i = i + 1) {
        }
    }
    triple(tensors);
    if (mode == 7 && calls == 5)  // one element is wrong in the fifth call
        static_cast<float *>(tensors[1].data)[count - 1] += 1;
    return mode == 8 && calls == 3 ? 42 : 0;
}
