// A round whose calls are a CUDA graph: the native path between `go` and `done` of Python submissions.
//
// Compiled when the harness starts. It needs nothing of CUDA but the addresses of two functions of the driver.
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

namespace {

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

}  // namespace

extern "C" {

typedef int (*launch_function)(void *graph, void *stream);
typedef int (*wait_function)(void *stream);

// Waits for `go`, launches, waits, answers `done`. Returns 0, -1 if the channel is closed, or CUDA's error.
__attribute__((visibility("default"))) int solmark_graph_round(int commands, int answers, launch_function launch,
                                                               wait_function wait, void *graph, void *stream) {
    const int size = 24;  // Length (4 bytes), "go  " or "done" (4), nonce (16): see frames.py.
    char frame[size];
    ssize_t done = await_go(commands, frame, size);
    if (done != size || std::memcmp(frame + 4, "go  ", 4) != 0)
        return -1;
    int error = launch(graph, stream);
    if (error == 0)
        error = wait(stream);
    if (error != 0)
        return error;
    std::memcpy(frame + 4, "done", 4);
    do {
        done = write(answers, frame, size);
    } while (done < 0 && errno == EINTR);
    return done == size ? 0 : -1;
}

}  // extern "C"
