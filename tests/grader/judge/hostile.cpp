// One function for each way in which a program can misbehave towards its judge. Each first writes y = 3 x, so
// that whatever goes unnoticed would pass.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "solmark.h"

#define ENTRY(name) \
    extern "C" int name(const solmark_tensor *t, int, const solmark_scalar *, int, void *)

static const int COMMANDS = 3, ANSWERS = 4, ARENA = 5;

static void triple(const solmark_tensor *t) {
    for (int64_t i = 0; i < t[0].shape[0]; ++i)
        for (int64_t j = 0; j < t[0].shape[1]; ++j)
            ((float *)t[1].data)[i * t[1].strides[0] + j * t[1].strides[1]] =
                3 * ((const float *)t[0].data)[i * t[0].strides[0] + j * t[0].strides[1]];
}

static void frame(const std::string &body, uint32_t size) {
    std::string bytes((const char *)&size, 4);
    bytes += body;
    if (write(ANSWERS, bytes.data(), bytes.size()) < 0)
        std::abort();
}

static void frame(const std::string &body) { frame(body, (uint32_t)body.size()); }

ENTRY(honest) { triple(t); return 0; }
ENTRY(prints) { triple(t); std::printf("hello\n"); std::fprintf(stderr, "\033[31mtrouble\033[0m\n"); return 0; }

// Ends.
ENTRY(segfault) { triple(t); *(volatile int *)8 = 1; return 0; }
ENTRY(aborts) { triple(t); std::abort(); }
ENTRY(divides) { volatile int64_t zero = t[0].dimensions - 2; return (int)(12345 / zero); }
ENTRY(exits_zero) { triple(t); _exit(0); }
ENTRY(exits_seven) { triple(t); std::exit(7); }
ENTRY(throws) { triple(t); throw std::runtime_error("out of \x1b[2J luck"); }
ENTRY(throws_a_number) { triple(t); throw 7; }
ENTRY(status) { triple(t); return 42; }
ENTRY(spins) { triple(t); for (volatile uint64_t i = 0;; ++i) {} }
ENTRY(sleeps) { triple(t); for (;;) pause(); }
ENTRY(stops_itself) { triple(t); raise(SIGSTOP); return 0; }
ENTRY(closes_the_channel) { triple(t); close(ANSWERS); for (;;) pause(); }
ENTRY(mounts) { triple(t); mount("none", "/tmp", "tmpfs", 0, nullptr); return 0; }

// Too much.
ENTRY(takes_memory) {
    triple(t);
    for (;;) {
        void *page = std::malloc(16 << 20);
        if (page != nullptr)
            std::memset(page, 1, 16 << 20);
    }
}
ENTRY(floods_stdout) {
    triple(t);
    const std::vector<char> text(1 << 16, 'x');
    for (;;)
        if (write(1, text.data(), text.size()) < 0)
            std::abort();
}
ENTRY(floods_the_channel) {
    triple(t);
    for (;;)
        frame(std::string(60000, 'x'));
}

// Out of bounds.
ENTRY(writes_past_the_end) {
    triple(t);
    ((float *)t[1].data)[t[1].shape[0] * t[1].shape[1]] = 1;
    return 0;
}
ENTRY(writes_before_the_start) { triple(t); ((float *)t[1].data)[-1] = 1; return 0; }
ENTRY(changes_its_input) { triple(t); ((float *)t[0].data)[0] += 1; return 0; }
ENTRY(writes_nothing) { return t == nullptr; }
ENTRY(writes_nan) { triple(t); ((float *)t[1].data)[7] = 0.0f / (float)(t[0].dimensions - 2); return 0; }
ENTRY(truncates_the_arena) {
    triple(t);
    const int refused = (ftruncate(ARENA, 0) != 0) + (ftruncate(ARENA, 1 << 30) != 0) +
                        (fcntl(ARENA, F_ADD_SEALS, F_SEAL_WRITE) != 0) +
                        (fallocate(ARENA, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) != 0);
    return 4 - refused;  // 0 where all of it was refused
}

// Protocol.
ENTRY(answers_twice) { triple(t); frame("{\"type\": \"called\"}"); return 0; }
ENTRY(answers_garbage) { triple(t); frame("\xff\x00{nonsense"); pause(); return 0; }
ENTRY(answers_nothing) { triple(t); frame("", 0); pause(); return 0; }
ENTRY(answers_too_much) { triple(t); frame("{", 1u << 31); pause(); return 0; }
ENTRY(answers_deeply) { triple(t); frame(std::string(60000, '[')); pause(); return 0; }
ENTRY(answers_half) { triple(t); frame("{\"type\":", 500); pause(); return 0; }
ENTRY(answers_with_nan) { triple(t); frame("{\"type\": \"called\", \"id\": NaN}"); pause(); return 0; }
ENTRY(answers_a_wrong_id) {
    triple(t);
    frame("{\"type\": \"called\", \"id\": \"00000000000000000000000000000000\"}");
    pause();
    return 0;
}
ENTRY(says_ready) {
    triple(t);
    frame("{\"type\": \"ready\", \"python\": \"\", \"torch\": \"\", \"triton\": \"\"}");
    pause();
    return 0;
}
ENTRY(forges_done) { triple(t); frame("done0123456789abcdef"); return 0; }

// What it leaves behind.
ENTRY(leaves_a_daemon) {
    triple(t);
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0)
            for (;;)
                pause();
        _exit(0);
    }
    return waitpid(child, nullptr, 0) == child ? 0 : 1;
}
ENTRY(daemon_holds_the_channel) {
    triple(t);
    if (fork() == 0) {
        setsid();
        signal(SIGTERM, SIG_IGN);
        for (;;)
            pause();
    }
    _exit(3);
}
