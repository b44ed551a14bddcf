// Calls `solve` on the slots of a round: the native loop between `go` and `done`.
//
// Built into the shared object of every C++ submission. Nothing but read, the calls and write lies between
// the judge's two looks at its clock.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <unistd.h>

#include "solmark.h"

namespace {

typedef int (*solve_function)(const solmark_tensor *, int, const solmark_scalar *, int, void *);

const int FRAME = 24;  // Length (4 bytes), "go  " or "done" (4), nonce (16): see frames.py.
char text[1024];       // What an exception said.

}  // namespace

extern "C" {

enum { SOLMARK_RUN_OK = 0, SOLMARK_RUN_STATUS = 1, SOLMARK_RUN_EXCEPTION = 2, SOLMARK_RUN_CHANNEL = 3 };

__attribute__((visibility("default"))) const char *solmark_runner_text() { return text; }

// One call; *status is what solve returned.
__attribute__((visibility("default"))) int solmark_runner_call(solve_function solve,
                                                               const solmark_tensor *tensors, int n,
                                                               const solmark_scalar *scalars, int m,
                                                               int *status) {
    try {
        *status = solve(tensors, n, scalars, m, nullptr);
    } catch (const std::exception &error) {
        std::snprintf(text, sizeof text, "%s", error.what());
        return SOLMARK_RUN_EXCEPTION;
    } catch (...) {
        std::snprintf(text, sizeof text, "an exception that is no std::exception");
        return SOLMARK_RUN_EXCEPTION;
    }
    return *status == 0 ? SOLMARK_RUN_OK : SOLMARK_RUN_STATUS;
}

// Waits for `go`, calls solve on slots 0 .. calls - 1 (n descriptors each), answers `done`.
__attribute__((visibility("default"))) int solmark_runner_round(int commands, int answers,
                                                                solve_function solve,
                                                                const solmark_tensor *tensors, int n,
                                                                const solmark_scalar *scalars, int m,
                                                                long calls, int *status) {
    char frame[FRAME];
    ssize_t size;
    do {
        size = read(commands, frame, FRAME);
    } while (size < 0 && errno == EINTR);
    if (size != FRAME || std::memcmp(frame + 4, "go  ", 4) != 0)
        return SOLMARK_RUN_CHANNEL;
    for (long i = 0; i < calls; ++i) {
        const int outcome = solmark_runner_call(solve, tensors + i * n, n, scalars, m, status);
        if (outcome != SOLMARK_RUN_OK)
            return outcome;
    }
    std::memcpy(frame + 4, "done", 4);
    do {
        size = write(answers, frame, FRAME);
    } while (size < 0 && errno == EINTR);
    return size == FRAME ? SOLMARK_RUN_OK : SOLMARK_RUN_CHANNEL;
}

}  // extern "C"
