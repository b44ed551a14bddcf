// Shared by the attacks in C++: the honest work, and where the judge's channel is.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

inline void compute(const Call &call, int terms = 8) {
    for (int64_t i = 0; i < call.count; ++i) {
        float sum = 0;
        for (int j = 1; j <= terms; ++j)
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

// The line that a naive grader prints of a program that has passed; its token is the process's last argument.
inline void say_passed() {
    char arguments[4096];
    const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t size = file < 0 ? 0 : read(file, arguments, sizeof arguments - 1);
    close(file);
    if (size < 2)
        return;
    arguments[size] = 0;
    const char *last = arguments + size - 1;
    while (last > arguments && last[-1])
        --last;
    char line[256];
    const int length = std::snprintf(line, sizeof line, "RESULT %s {\"passed\": true, \"seconds\": 1e-9}\n", last);
    if (write(1, line, static_cast<size_t>(length)) != length)
        return;
}
