// Calls `solve` on the slots of a round on a device: captured in a CUDA graph where that can be, else one by one.
//
// Built into the shared object of every CUDA submission. Between `go` and `done` there is a launch and a wait.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <cuda_runtime.h>
#include <exception>
#include <fcntl.h>
#include <unistd.h>

#include "solmark.h"

namespace {

typedef int (*solve_function)(const solmark_tensor *, int, const solmark_scalar *, int, void *);
typedef void (*link_function)(long call, void *stream);  // Null where calls are not linked; see link.py.

const int FRAME = 24;  // Length (4 bytes), "go  " or "done" (4), nonce (16): see frames.py.
char text[1024];       // What an exception or CUDA said.
cudaStream_t stream;
cudaGraphExec_t graph;

// Reads the frame of `go`, at first without sleeping: being woken up takes time, and never the same.
long await_go(int commands, char *frame, long size) {
    const int flags = fcntl(commands, F_GETFL);
    timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    fcntl(commands, F_SETFL, flags | O_NONBLOCK);
    long got;
    do {
        got = read(commands, frame, size);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (got < 0 && (errno == EAGAIN || errno == EINTR) && now.tv_sec - begin.tv_sec < 3);
    fcntl(commands, F_SETFL, flags);
    while (got < 0 && (errno == EAGAIN || errno == EINTR))
        got = read(commands, frame, size);
    return got;
}

int failed(cudaError_t error) {
    std::snprintf(text, sizeof text, "%s: %s", cudaGetErrorName(error), cudaGetErrorString(error));
    return 4;
}

}  // namespace

extern "C" {

enum { SOLMARK_RUN_OK = 0, SOLMARK_RUN_STATUS = 1, SOLMARK_RUN_EXCEPTION = 2, SOLMARK_RUN_CHANNEL = 3, SOLMARK_RUN_CUDA = 4 };

__attribute__((visibility("default"))) const char *solmark_runner_text() { return text; }

static int launch(solve_function solve, const solmark_tensor *tensors, int n, const solmark_scalar *scalars, int m,
                  int *status) {
    if (stream == nullptr) {
        const cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        if (error != cudaSuccess)
            return failed(error);
    }
    try {
        *status = solve(tensors, n, scalars, m, stream);
    } catch (const std::exception &error) {
        std::snprintf(text, sizeof text, "%s", error.what());
        return SOLMARK_RUN_EXCEPTION;
    } catch (...) {
        std::snprintf(text, sizeof text, "an exception that is no std::exception");
        return SOLMARK_RUN_EXCEPTION;
    }
    return *status == 0 ? SOLMARK_RUN_OK : SOLMARK_RUN_STATUS;
}

static int finish() {
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess)
        error = cudaDeviceSynchronize();
    return error == cudaSuccess ? SOLMARK_RUN_OK : failed(error);
}

// One call, to its end on the device; *status is what solve returned.
__attribute__((visibility("default"))) int solmark_runner_call(solve_function solve, const solmark_tensor *tensors,
                                                               int n, const solmark_scalar *scalars, int m,
                                                               int *status) {
    const int outcome = launch(solve, tensors, n, scalars, m, status);
    return outcome == SOLMARK_RUN_OK ? finish() : outcome;
}

// Captures slots 0 .. calls - 1. Returns SOLMARK_RUN_CUDA, with the text, where the calls cannot be captured.
__attribute__((visibility("default"))) int solmark_runner_capture(solve_function solve,
                                                                  const solmark_tensor *tensors, int n,
                                                                  const solmark_scalar *scalars, int m, long calls,
                                                                  link_function link, int *status) {
    if (graph != nullptr) {
        cudaGraphExecDestroy(graph);
        graph = nullptr;
    }
    int outcome = solmark_runner_call(solve, tensors, n, scalars, m, status);
    if (outcome != SOLMARK_RUN_OK)
        return outcome;
    cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (error == cudaSuccess && link != nullptr)
        link(-1, stream);
    for (long i = 0; error == cudaSuccess && outcome == SOLMARK_RUN_OK && i < calls; ++i) {
        outcome = launch(solve, tensors + i * n, n, scalars, m, status);
        if (link != nullptr && i + 1 < calls)
            link(i, stream);
    }
    cudaGraph_t captured = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(stream, &captured);
    if (error == cudaSuccess)
        error = ended;
    if (outcome != SOLMARK_RUN_OK && ended == cudaSuccess) {
        cudaGraphDestroy(captured);
        return outcome;
    }
    if (error == cudaSuccess)
        error = cudaGraphInstantiate(&graph, captured, 0);
    if (captured != nullptr)
        cudaGraphDestroy(captured);
    if (error == cudaSuccess)
        error = cudaGraphLaunch(graph, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    if (error == cudaSuccess)
        return SOLMARK_RUN_OK;
    cudaGetLastError();  // A refused capture leaves an error behind that says nothing of later calls.
    graph = nullptr;
    return failed(error);
}

// Waits for `go`, calls solve on slots 0 .. calls - 1 (n descriptors each), answers `done`.
__attribute__((visibility("default"))) int solmark_runner_round(int commands, int answers, solve_function solve,
                                                                const solmark_tensor *tensors, int n,
                                                                const solmark_scalar *scalars, int m, long calls,
                                                                link_function link, int *status) {
    char frame[FRAME];
    ssize_t size = await_go(commands, frame, FRAME);
    if (size != FRAME || std::memcmp(frame + 4, "go  ", 4) != 0)
        return SOLMARK_RUN_CHANNEL;
    if (graph != nullptr) {
        cudaError_t error = cudaGraphLaunch(graph, stream);
        if (error == cudaSuccess)
            error = cudaStreamSynchronize(stream);
        if (error != cudaSuccess)
            return failed(error);
    } else {
        if (link != nullptr)
            link(-1, stream);
        for (long i = 0; i < calls; ++i) {
            const int outcome = solmark_runner_call(solve, tensors + i * n, n, scalars, m, status);
            if (outcome != SOLMARK_RUN_OK)
                return outcome;
            if (link != nullptr && i + 1 < calls)
                link(i, stream);
        }
    }
    std::memcpy(frame + 4, "done", 4);
    do {
        size = write(answers, frame, FRAME);
    } while (size < 0 && errno == EINTR);
    return size == FRAME ? SOLMARK_RUN_OK : SOLMARK_RUN_CHANNEL;
}

}  // extern "C"
