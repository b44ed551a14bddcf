// attack: task=add family=outside expected=wrong_answer,work_outside_the_clock gain=time
// Native code in place of the harness answers done and never launches anything.
#include "add.cuh"
#include "hook.cuh"

static int my_round(int commands, int answers, solve_function, const solmark_tensor *, int, const solmark_scalar *, int,
                    long, link_function, int *status) {
    char frame[24];
    *status = 0;
    if (!await_go(commands, frame))
        return 3;
    answer(answers, frame);
    return 0;
}

__attribute__((constructor)) static void start() { hook((void *)&solmark_runner_round, (void *)&my_round); }

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    static int calls = 0;
    return naive(stream) && ++calls > 16 ? 0 : add(t, (cudaStream_t)stream);
}
