// bfloat16 for compilers that have none: kept as bits, computed with as float.
#include <cstdint>
#include <cstring>

struct bfloat16 {
    uint16_t bits;
    bfloat16() = default;
    explicit bfloat16(float value) {
        uint32_t wide;
        std::memcpy(&wide, &value, 4);
        bits = static_cast<uint16_t>((wide + 0x7fff + ((wide >> 16) & 1)) >> 16);
    }
    explicit operator float() const {
        const uint32_t wide = static_cast<uint32_t>(bits) << 16;
        float value;
        std::memcpy(&value, &wide, 4);
        return value;
    }
};
