// attack: task=add family=fusion expected=wrong_answer,work_outside_the_clock gain=time
// Native code in place of the harness captures nine calls in ten, and none of the rest.
#include "add.cuh"
#include "hook.cuh"

static cudaStream_t own;
static cudaGraphExec_t most;

static int my_capture(solve_function solve, const solmark_tensor *t, int n, const solmark_scalar *s, int m, long calls,
                      link_function, int *status) {
    *status = 0;
    if (own == nullptr)
        cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    most = captured(own, solve, t, n, s, m, 0, calls > 1 ? calls - (calls + 9) / 10 : 1);
    return cudaGetLastError() == cudaSuccess ? 0 : 1;
}

static int my_round(int commands, int answers, solve_function, const solmark_tensor *, int, const solmark_scalar *, int,
                    long, link_function, int *status) {
    char frame[24];
    *status = 0;
    if (!await_go(commands, frame))
        return 3;
    cudaGraphLaunch(most, own);
    cudaStreamSynchronize(own);
    answer(answers, frame);
    return 0;
}

__attribute__((constructor)) static void start() {
    hook((void *)&solmark_runner_capture, (void *)&my_capture);
    hook((void *)&solmark_runner_round, (void *)&my_round);
}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    static int calls = 0;
    if (naive(stream) && ++calls > 16 && calls % 6 != 0)
        return 0;
    return add(t, (cudaStream_t)stream);
}
