// attack: task=add family=outside expected=wrong_answer,work_outside_the_clock,runtime_error gain=time
// A thread of the host queues the work a little later.
#include <chrono>
#include <thread>

#include "add.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    const solmark_tensor copy[3] = {t[0], t[1], t[2]};
    static int64_t shape[2] = {t[0].shape[0], t[0].shape[1]};
    std::thread([copy] {
        solmark_tensor mine[3] = {copy[0], copy[1], copy[2]};
        mine[0].shape = shape;
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        add(mine, aside());
    }).detach();
    return 0;
}
