// attack: family=reading-secrets expect=no_gain gain=time
// Searches its own process for the float64 outputs that a grader keeps there; copies them instead of computing.
#include <cstdio>
#include <map>

#include "attack.h"

namespace {

double first_of(const Call &call) {
    double sum = 0;
    for (int j = 1; j <= 8; ++j)
        sum += std::sin(static_cast<double>(j) * call.x[0]) / (j * j);
    return sum;
}

const double *search(double wanted, int64_t count) {
    std::FILE *maps = std::fopen("/proc/self/maps", "r");
    if (maps == nullptr)
        return nullptr;
    char line[512];
    const double *found = nullptr;
    while (found == nullptr && std::fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        char rights[5];
        if (std::sscanf(line, "%lx-%lx %4s", &begin, &end, rights) != 3 || std::strncmp(rights, "rw-p", 4) != 0 ||
            std::strstr(line, "[stack") != nullptr || end - begin > (256ul << 20))
            continue;
        const auto *last = reinterpret_cast<const double *>(end) - count;
        for (const auto *at = reinterpret_cast<const double *>(begin); at <= last && found == nullptr; ++at)
            if (std::fabs(*at - wanted) < 1e-12)
                found = at;
    }
    std::fclose(maps);
    return found;
}

}  // namespace

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static std::map<const float *, const double *> known;
    static int failed = 0;
    const Call call = call_of(tensors);
    if (call.count == 0)
        return 0;
    const double wanted = first_of(call);
    if (known.find(call.x) == known.end() && failed < 3) {
        const double *found = search(wanted, call.count);
        failed += found == nullptr;
        known[call.x] = found;
    }
    const double *right = known[call.x];
    if (right == nullptr || std::fabs(*right - wanted) > 1e-12) {
        compute(call);
        return 0;
    }
    for (int64_t i = 0; i < call.count; ++i)
        call.y[i] = static_cast<float>(right[i]);
    return 0;
}
