// hostile: family=build verdict=build_error,time_limit,memory_limit lift=judge shows=exit:1
// Has the compiler compute for ever.
constexpr long endless(long x) {
    while (x != 0)
        x += 2;
    return x;
}
static_assert(endless(1) == 0);
