// attack: task=add family=outside expected=wrong_answer,work_outside_the_clock,runtime_error gain=time
// A thread of the host queues the work a little later.
#include <chrono>
#include <thread>

#include "add.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    const int64_t n = pieces(t);
    float4 *x = (float4 *)t[0].data, *y = (float4 *)t[1].data, *out = (float4 *)t[2].data;
    if (n == 0)
        return 0;
    const cudaStream_t own = aside();
    std::thread([=] {
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        add_some<<<(n + 255) / 256, 256, 0, own>>>(x, y, out, 0, n);
    }).detach();
    return 0;
}
