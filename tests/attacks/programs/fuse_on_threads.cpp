// attack: family=overlap expect=no_gain,wrong_answer,overlap gain=time
// The first call of a round has threads do the work of all its calls side by side; the last one waits for them.
#include <thread>
#include <vector>

#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static std::vector<Call> known;
    static std::vector<std::thread> running;
    const Call call = call_of(tensors);
    if (call.count == 0)
        return 0;
    size_t place = 0;
    while (place < known.size() && known[place].x != call.x)
        ++place;
    if (place == known.size()) {
        known.push_back(call);
        compute(call);
        return 0;
    }
    if (place == 0)
        for (const Call &each : known)
            running.emplace_back([each] { compute(each); });
    if (place + 1 == known.size()) {
        for (std::thread &each : running)
            each.join();
        running.clear();
    }
    return 0;
}
