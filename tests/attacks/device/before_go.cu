// attack: task=add family=outside expected=work_outside_the_clock,wrong_answer gain=time
// Native code in place of the harness launches the round before go, to find what the fill has brought so far.
#include "add.cuh"
#include "hook.cuh"

static cudaStream_t own;
static cudaGraphExec_t whole;

static int my_capture(solve_function solve, const solmark_tensor *t, int n, const solmark_scalar *s, int m, long calls,
                      link_function, int *status) {
    *status = 0;
    if (own == nullptr)
        cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    whole = captured(own, solve, t, n, s, m, 0, calls);
    return cudaGetLastError() == cudaSuccess ? 0 : 1;
}

static int my_round(int commands, int answers, solve_function, const solmark_tensor *, int, const solmark_scalar *, int,
                    long, link_function, int *status) {
    char frame[24];
    *status = 0;
    for (int i = 0; i < 3; ++i)
        cudaGraphLaunch(whole, own);  // Queued many times over: one of them may run after the fill.
    if (!await_go(commands, frame))
        return 3;
    cudaStreamSynchronize(own);
    answer(answers, frame);
    return 0;
}

__attribute__((constructor)) static void start() {
    hook((void *)&solmark_runner_capture, (void *)&my_capture);
    hook((void *)&solmark_runner_round, (void *)&my_round);
}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    return add(t, naive(stream) ? aside() : (cudaStream_t)stream);
}
