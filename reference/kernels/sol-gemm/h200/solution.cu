// solmark: verdict=accepted
// A persistent kernel for Hopper: one warp loads tiles with the copy engine into a ring of stages, two warpgroups
// multiply with wgmma. What does not fill the last wave is cut along K (stream-K), partial sums meet in L2. Narrow
// products swap their operands; rows that the copy engine cannot address are first copied to ones that it can.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "solmark.h"

#ifdef SOL_GEMM_TUNE
extern "C" {
int sol_gemm_choice[11]; // Set from outside by benchmarks/gpu/gemm_choices.py.
}
#endif

namespace {

constexpr int DEPTH = 64;      // Elements of K in a slab: a row of 128 bytes, the width of the swizzle.
constexpr int PITCH = 72;      // Elements from one staged row to the next where they are written by threads.
constexpr int SHARED = 233472; // Bytes of an SM; each block costs RESERVED more than it asks for.
constexpr int RESERVED = 1024;
constexpr int COUNTERS = 65536;
constexpr int LEAST_STEPS = 4; // Stages of K for each cluster, where tiles are cut.

// How the work is cut. "Rows" are those of the first operand of wgmma: A's, or B's where they are swapped.
struct Work {
    int height; // Rows of a block's tile that are its own: the others of its instructions multiply what lies about.
    int row_bytes, stage_bytes, stages; // Of the rows' part of a slab, of a stage; stages in the ring.
    int row_tiles, column_tiles, steps; // Clusters' tiles along the rows, tiles along the columns, stages of K.
    int band;                           // Clusters' tiles along the rows that are walked together, for the L2.
    int whole;                          // Tiles that one cluster computes alone; the rest is cut along K.
    int tiles;
    int cutters; // Clusters that share what is cut; each has an equal part.
    int across;    // Tiles that are cut, if clusters take first one part of each, then the next ones; else 0.
    bool together; // Whether all that share a tile add up, each a part of its columns; else the last to come does.
};

struct Output {
    void *data;
    int64_t stride, m, n;
};

__device__ __forceinline__ uint32_t shared_address(const void *pointer) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// --- barriers ------------------------------------------------------------------------------------------------

__device__ __forceinline__ void barrier_init(uint32_t barrier, uint32_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count));
}

__device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Nothing but reads comes before it. With .release.cluster it would wait for all of the device's memory each time.
__device__ __forceinline__ void barrier_arrive(uint32_t barrier, uint32_t block) {
    asm volatile("{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote]; }" ::"r"(barrier),
                 "r"(block));
}

__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity) {
    asm volatile("{ .reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again; }" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

__device__ __forceinline__ void warpgroup_sync(int warpgroup) {
    asm volatile("bar.sync %0, 128;" ::"r"(warpgroup + 1) : "memory");
}

// Every kernel here is launched while the one before still runs, and waits for its end before it touches memory: what
// a launch costs is then over.
__device__ __forceinline__ void wait_for_the_kernel_before() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

__device__ __forceinline__ void prefetch(const CUtensorMap *map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// --- the copy engine -----------------------------------------------------------------------------------------

__device__ __forceinline__ void load(uint32_t to, const CUtensorMap *map, int column, int row, uint32_t barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(map), "r"(column), "r"(row), "r"(barrier)
                 : "memory");
}

__device__ __forceinline__ void load_for_all(uint32_t to, const CUtensorMap *map, int column, int row,
                                             uint32_t barrier, uint16_t blocks) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
                 "[%1, {%2, %3}], [%4], %5;" ::"r"(to),
                 "l"(map), "r"(column), "r"(row), "r"(barrier), "h"(blocks)
                 : "memory");
}

__device__ __forceinline__ void store(const CUtensorMap *map, uint32_t from, int column, int row) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
                 "r"(column), "r"(row), "r"(from)
                 : "memory");
}

// --- wgmma ---------------------------------------------------------------------------------------------------

// A tile of rows of 128 bytes in the swizzled order of the copy engine; eight rows are 1024 bytes.
__device__ __forceinline__ uint64_t descriptor(uint32_t address) {
    return (uint64_t)(address & 0x3FFFF) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

#define P8(a, b, c, d, e, f, g, h) "%" #a ", %" #b ", %" #c ", %" #d ", %" #e ", %" #f ", %" #g ", %" #h
#define P0 P8(0, 1, 2, 3, 4, 5, 6, 7)
#define P1 P0 ", " P8(8, 9, 10, 11, 12, 13, 14, 15)
#define P2 P1 ", " P8(16, 17, 18, 19, 20, 21, 22, 23) ", " P8(24, 25, 26, 27, 28, 29, 30, 31)
#define P3 P2 ", " P8(32, 33, 34, 35, 36, 37, 38, 39) ", " P8(40, 41, 42, 43, 44, 45, 46, 47)
#define P4 P3 ", " P8(48, 49, 50, 51, 52, 53, 54, 55) ", " P8(56, 57, 58, 59, 60, 61, 62, 63)
#define P5 P4 ", " P8(64, 65, 66, 67, 68, 69, 70, 71) ", " P8(72, 73, 74, 75, 76, 77, 78, 79)
#define P6 P5 ", " P8(80, 81, 82, 83, 84, 85, 86, 87) ", " P8(88, 89, 90, 91, 92, 93, 94, 95)
#define P7 P6 ", " P8(96, 97, 98, 99, 100, 101, 102, 103) ", " P8(104, 105, 106, 107, 108, 109, 110, 111)
#define P8_ P7 ", " P8(112, 113, 114, 115, 116, 117, 118, 119) ", " P8(120, 121, 122, 123, 124, 125, 126, 127)
#define D8(d, i)                                                                                                       \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]),         \
        "+f"(d[i + 7])
#define D16(d, i) D8(d, i), D8(d, i + 8)
#define D32(d, i) D16(d, i), D16(d, i + 16)
#define D64(d, i) D32(d, i), D32(d, i + 32)

#define WGMMA(N, TYPE, OUTPUTS, A, B, MORE, ...)                                                                       \
    asm volatile("{ .reg .pred more; setp.ne.b32 more, %" #MORE ", 0;\n"                                               \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" OUTPUTS "}, %" #A ", %" #B       \
                 ", more, 1, 1, 0, 0; }"                                                                               \
                 : __VA_ARGS__                                                                                         \
                 : "l"(a), "l"(b), "r"(more))

// d[64 x N] = a[64 x 16] b[N x 16]^T, plus d if `more`.
template <int N, bool BFLOAT> __device__ __forceinline__ void multiply(float *d, uint64_t a, uint64_t b, int more) {
#define BOTH(SIZE, OUTPUTS, A, B, MORE, ...)                                                                           \
    if constexpr (N == SIZE && BFLOAT)                                                                                 \
        WGMMA(SIZE, "bf16", OUTPUTS, A, B, MORE, __VA_ARGS__);                                                         \
    else if constexpr (N == SIZE)                                                                                      \
        WGMMA(SIZE, "f16", OUTPUTS, A, B, MORE, __VA_ARGS__);
    BOTH(16, P0, 8, 9, 10, D8(d, 0))
    BOTH(32, P1, 16, 17, 18, D16(d, 0))
    BOTH(64, P2, 32, 33, 34, D32(d, 0))
    BOTH(96, P3, 48, 49, 50, D32(d, 0), D16(d, 32))
    BOTH(128, P4, 64, 65, 66, D64(d, 0))
    BOTH(160, P5, 80, 81, 82, D64(d, 0), D16(d, 64))
    BOTH(192, P6, 96, 97, 98, D64(d, 0), D32(d, 64))
    BOTH(224, P7, 112, 113, 114, D64(d, 0), D32(d, 64), D16(d, 96))
    BOTH(256, P8_, 128, 129, 130, D64(d, 0), D64(d, 64))
#undef BOTH
}

template <int COUNT> __device__ __forceinline__ void keep(float (&d)[COUNT]) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
        asm volatile("" : "+f"(d[i])::"memory");
}

__device__ __forceinline__ void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ __forceinline__ void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int LEFT> __device__ __forceinline__ void products_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

// --- the work of a cluster -----------------------------------------------------------------------------------

struct Segment {
    int tile, begin, end; // Stages [begin, end) of K of one tile.
};

// Walks the segments of a cluster: its part of what is cut along K, then whole tiles.
struct Walk {
    const Work &work;
    int clusters;
    int at, last, next_whole;

    __device__ Walk(const Work &w, int cluster, int count) : work(w), clusters(count), next_whole(cluster) {
        at = cluster < w.cutters ? first_stage(w, cluster) : 0;
        last = cluster < w.cutters ? first_stage(w, cluster + 1) : 0;
    }

    // Of the part of a cluster, in stages of all tiles that are cut.
    __device__ static int64_t first_stage(const Work &w, int cluster) {
        return (int64_t)(w.tiles - w.whole) * w.steps * cluster / w.cutters;
    }

    __device__ bool next(Segment &s) {
        if (at < last) {
            const int tile = at / work.steps;
            s.tile = work.whole + tile;
            s.begin = at - tile * work.steps;
            s.end = min(work.steps, s.begin + last - at);
            at += s.end - s.begin;
            return true;
        }
        if (next_whole < work.whole) {
            s = {next_whole, 0, work.steps};
            next_whole += clusters;
            return true;
        }
        return false;
    }
};

__device__ __forceinline__ void place(const Work &work, int tile, int &row, int &column) {
    const int per_band = work.band * work.column_tiles, band = tile / per_band, inside = tile % per_band;
    const int height = min(work.band, work.row_tiles - band * work.band);
    row = band * work.band + inside % height;
    column = inside / height;
}

// --- results -------------------------------------------------------------------------------------------------

template <bool BFLOAT> __device__ __forceinline__ uint32_t pack(float low, float high) {
    uint32_t both;
    if constexpr (BFLOAT)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    else
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

__device__ __forceinline__ void store_matrices(uint32_t to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b),
                 "r"(c), "r"(d)
                 : "memory");
}

// Every `each`th piece of 64 columns from `first` on: of all of them, or of those that one adds up.
struct Pieces {
    int first = 0, each = 1;

    __device__ __forceinline__ bool has(int piece) const { return piece % each == first; }
};

// 64 rows and 64 columns of results, as a warpgroup's threads have them.
struct Packed {
    uint32_t pairs[16];
};

template <bool BFLOAT> __device__ __forceinline__ Packed packed(const float *d) {
    Packed x;
#pragma unroll
    for (int i = 0; i < 16; ++i)
        x.pairs[i] = pack<BFLOAT>(d[2 * i], d[2 * i + 1]);
    return x;
}

// Through the copy engine, from two buffers in turn: `used` counts.
__device__ __forceinline__ void write_piece(const Packed &x, const CUtensorMap *map, uint32_t staging, int &used,
                                            int warpgroup, int row, int column) {
    const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
    const int r = warp * 16 + (lane / 8 & 1) * 8 + lane % 8;
    const uint32_t buffer = staging + (used++ & 1) * 8192;
    if (thread == 0)
        asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    warpgroup_sync(warpgroup);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int chunk = i * 2 + lane / 16;
        store_matrices(buffer + r * 128 + ((chunk ^ (r & 7)) << 4), x.pairs[4 * i], x.pairs[4 * i + 1],
                       x.pairs[4 * i + 2], x.pairs[4 * i + 3]);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    warpgroup_sync(warpgroup);
    if (thread == 0) {
        store(map, buffer, column, row);
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
}

// Writes staged rows [0, rows) of 64 elements to C from (m, n) on, as wide as the addresses allow.
__device__ __forceinline__ void write_rows(const uint16_t *staged, int rows, const Output &out, int64_t m, int64_t n) {
    const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
    const int columns = (int)min((int64_t)64, out.n - n);
    rows = (int)min((int64_t)rows, out.m - m);
    uint16_t *c = static_cast<uint16_t *>(out.data) + m * out.stride + n;
    if (columns <= 0)
        return;
    if (columns == 64 && (reinterpret_cast<uintptr_t>(c) & 15) == 0 && (out.stride & 7) == 0) {
        for (int r = thread / 8; r < rows; r += 16)
            *reinterpret_cast<uint4 *>(c + r * out.stride + lane % 8 * 8) =
                *reinterpret_cast<const uint4 *>(staged + r * PITCH + lane % 8 * 8);
        return;
    }
    for (int r = warp; r < rows; r += 4) {
        uint16_t *to = c + r * out.stride;
        const uint16_t *from = staged + r * PITCH;
        const int odd = reinterpret_cast<uintptr_t>(to) >> 1 & 1, first = 2 * lane + odd;
        if (first + 1 < columns)
            *reinterpret_cast<uint32_t *>(to + first) = from[first] | (uint32_t)from[first + 1] << 16;
        else if (first < columns)
            to[first] = from[first];
        if (odd && lane == 0)
            to[0] = from[0];
    }
}

__device__ __forceinline__ uint32_t transposed(uint32_t x) {
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(x));
    return x;
}

// 64 rows of swapped results by threads, two elements at once where that can be: least delay, for few columns.
template <int N, bool BFLOAT>
__device__ __forceinline__ void write_few(const float *d, const Output &out, int64_t row, int64_t column) {
    const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
    uint16_t *c = static_cast<uint16_t *>(out.data);
    const bool even = (reinterpret_cast<uintptr_t>(c) & 3) == 0 && (out.stride & 1) == 0 && (row & 1) == 0;
#pragma unroll
    for (int j = 0; j < N / 8; ++j)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const uint32_t both = transposed(pack<BFLOAT>(d[j * 4 + half * 2], d[j * 4 + half * 2 + 1]));
            const int64_t m = column + j * 8 + lane / 4, n = row + warp * 16 + half * 8 + lane % 4 * 2;
            if (m >= out.m || n >= out.n)
                continue;
            uint16_t *to = c + m * out.stride + n;
            if (even && n + 1 < out.n)
                *reinterpret_cast<uint32_t *>(to) = both;
            else {
                to[0] = both;
                if (n + 1 < out.n)
                    to[1] = both >> 16;
            }
        }
}

// 64 rows of results through shared memory, and by threads.
template <int N, bool BFLOAT, bool SWAPPED>
__device__ __forceinline__ void write_anywhere(const float *d, uint16_t *staged, int warpgroup, const Output &out,
                                               int64_t row, int64_t column, const Pieces pieces) {
    const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
    const int r = warp * 16 + lane / 4, c = lane % 4 * 2;
#pragma unroll
    for (int piece = 0; piece < (N + 63) / 64; ++piece) {
        if (!pieces.has(piece))
            continue;
        const int groups = min(8, (N - piece * 64) / 8);
        warpgroup_sync(warpgroup);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            if (j >= groups)
                break;
            const float *x = d + piece * 32 + j * 4;
            const uint32_t upper = pack<BFLOAT>(x[0], x[1]), lower = pack<BFLOAT>(x[2], x[3]);
            if constexpr (SWAPPED) {
                uint16_t *to = staged + (j * 8 + c) * PITCH + r;
                to[0] = upper, to[PITCH] = upper >> 16;
                to[8] = lower, to[PITCH + 8] = lower >> 16;
            } else {
                *reinterpret_cast<uint32_t *>(staged + r * PITCH + j * 8 + c) = upper;
                *reinterpret_cast<uint32_t *>(staged + (r + 8) * PITCH + j * 8 + c) = lower;
            }
        }
        warpgroup_sync(warpgroup);
        if constexpr (SWAPPED)
            write_rows(staged, groups * 8, out, column + piece * 64, row);
        else {
            Output narrow = out;
            narrow.n = min(out.n, column + piece * 64 + groups * 8);
            write_rows(staged, 64, narrow, row, column + piece * 64);
        }
    }
}

// --- the kernel ----------------------------------------------------------------------------------------------

// Each of CONSUMERS warpgroups computes BLOCKS blocks of 64 rows and N columns. RESIDENT such blocks share an SM.
// A stage holds SLABS slabs of K.
template <int CONSUMERS_, int BLOCKS_, int N_, int CLUSTER_, int RESIDENT_, bool SWAPPED_, int SLABS_> struct Tile {
    static constexpr int CONSUMERS = CONSUMERS_, BLOCKS = BLOCKS_, N = N_, CLUSTER = CLUSTER_, RESIDENT = RESIDENT_;
    static constexpr bool SWAPPED = SWAPPED_;
    static constexpr int SLABS = SLABS_;
    static constexpr int ROWS = 64 * BLOCKS * CONSUMERS, ACCUMULATORS = N / 2;
    static constexpr int STAGING = SWAPPED ? 64 * PITCH * 2 : 16384; // A warpgroup turns its results round there.
    static constexpr int MOST_STAGES = 32;
    static constexpr int OTHER_BYTES = 1024 + CONSUMERS * STAGING; // To align the ring, and behind it.
    static constexpr int RING_BYTES = SHARED / RESIDENT - RESERVED - 16 * MOST_STAGES - 128 - OTHER_BYTES;
    static constexpr bool REGISTERS = RESIDENT == 1 && CONSUMERS == 2; // Whether they move to those who multiply.
    static constexpr int THREADS = 128 * CONSUMERS + (REGISTERS ? 128 : 32);
    static constexpr int PIECES = !SWAPPED && N % 64 == 0 ? N / 64 : 0; // Of 64 columns, where C can be written so.
    static constexpr bool TOGETHER = PIECES > 0 && RESIDENT == 1 && BLOCKS == 1;
    static_assert(RING_BYTES >= 3 * SLABS * (ROWS + N) * 128 && N % (8 * CLUSTER) == 0, "");
};

// --- tiles that are cut along K --------------------------------------------------------------------------------

// The clusters [first, last] share a tile. Each has room for its sums in it, and in the next tile that it shares.
struct Parts {
    float *sums;
    int64_t cluster, next; // Elements from one cluster's room to the next one's, and to that for its second tile.
    int first, last, mine;
    int *counter; // 0 between tiles; another one lies COUNTERS / 2 behind it.
};

// All are at work at the same time: each gives away the pieces that others add up, and adds up its own. Counted are
// those who have written, then those who have seen that all have; the last of these clears both.
template <class Tile>
__device__ __forceinline__ Pieces add_up_together(float (&d)[Tile::ACCUMULATORS], const Parts &parts, int warpgroup) {
    const int thread = threadIdx.x % 128, count = parts.last - parts.first + 1, mine = parts.mine - parts.first;
    float4 *given = reinterpret_cast<float4 *>(parts.sums + parts.mine * parts.cluster);
#pragma unroll
    for (int piece = 0; piece < Tile::N / 64; ++piece)
        if (piece % count != mine)
#pragma unroll
            for (int i = piece * 32; i < piece * 32 + 32; i += 4)
                given[i * 32 + thread] = make_float4(d[i], d[i + 1], d[i + 2], d[i + 3]);
    __threadfence();
    warpgroup_sync(warpgroup);
    if (thread == 0) {
        int seen;
        asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(parts.counter) : "memory");
        do
            asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(seen) : "l"(parts.counter) : "memory");
        while (seen < count);
        int *left = parts.counter + COUNTERS / 2;
        asm volatile("atom.add.acq_rel.gpu.global.s32 %0, [%1], 1;" : "=r"(seen) : "l"(left) : "memory");
        if (seen == count - 1)
            *parts.counter = *left = 0;
    }
    warpgroup_sync(warpgroup);
    __threadfence();
    for (int other = 0; other < count; ++other) {
        if (other == mine)
            continue;
        const float4 *taken = reinterpret_cast<const float4 *>(parts.sums + (parts.first + other) * parts.cluster);
#pragma unroll
        for (int piece = 0; piece < Tile::N / 64; ++piece)
            if (piece % count == mine)
#pragma unroll
                for (int i = piece * 32; i < piece * 32 + 32; i += 4) {
                    const float4 more = __ldcg(&taken[i * 32 + thread]);
                    d[i] += more.x, d[i + 1] += more.y, d[i + 2] += more.z, d[i + 3] += more.w;
                }
    }
    return {mine, count};
}

// The last to come adds up. Returns false for all others, who leave their sums in memory.
template <class Tile>
__device__ __forceinline__ bool add_up_as_last(float (&d)[Tile::BLOCKS][Tile::ACCUMULATORS], const Parts &parts,
                                               const Work &work, int tile, int *order, int warpgroup) {
    constexpr int BLOCKS = Tile::BLOCKS, ACCUMULATORS = Tile::ACCUMULATORS;
    const int thread = threadIdx.x % 128, others = parts.last - parts.first;
    const auto room = [&](int cluster) {
        const bool first = Walk::first_stage(work, cluster) / work.steps == tile;
        return reinterpret_cast<float4 *>(parts.sums + cluster * parts.cluster + (first ? 0 : parts.next));
    };
    if (thread == 0) {
        int seen;
        asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(seen) : "l"(parts.counter) : "memory");
        *order = seen;
    }
    warpgroup_sync(warpgroup);
    int seen = *order;
    if (seen < others) {
        float4 *given = room(parts.mine);
#pragma unroll
        for (int block = 0; block < BLOCKS; ++block)
#pragma unroll
            for (int i = 0; i < ACCUMULATORS; i += 4)
                given[(block * ACCUMULATORS + i) * 32 + thread] =
                    make_float4(d[block][i], d[block][i + 1], d[block][i + 2], d[block][i + 3]);
        __threadfence();
        warpgroup_sync(warpgroup);
        if (thread == 0) {
            asm volatile("atom.add.acq_rel.gpu.global.s32 %0, [%1], 1;" : "=r"(seen) : "l"(parts.counter) : "memory");
            *order = seen;
        }
        warpgroup_sync(warpgroup);
        seen = *order;
        if (seen < others)
            return false;
    }
    __threadfence();
    if (thread == 0)
        *parts.counter = 0;
    for (int other = parts.first; other <= parts.last; ++other) {
        if (other == parts.mine)
            continue;
        const float4 *taken = room(other);
#pragma unroll
        for (int block = 0; block < BLOCKS; ++block)
#pragma unroll
            for (int i = 0; i < ACCUMULATORS; i += 4) {
                const float4 more = __ldcg(&taken[(block * ACCUMULATORS + i) * 32 + thread]);
                d[block][i] += more.x, d[block][i + 1] += more.y;
                d[block][i + 2] += more.z, d[block][i + 3] += more.w;
            }
    }
    return true;
}

// In a cluster the tiles lie one below the other and share the columns' operand, of which each loads a part for all.
template <class Tile, bool BFLOAT>
__global__ void __launch_bounds__(Tile::THREADS, Tile::RESIDENT)
    gemm(const __grid_constant__ CUtensorMap rows, const __grid_constant__ CUtensorMap columns,
         const __grid_constant__ CUtensorMap result, const Work work, const Output out, const bool by_engine,
         float *partial, int *counters) {
    constexpr int CONSUMERS = Tile::CONSUMERS, BLOCKS = Tile::BLOCKS, N = Tile::N, CLUSTER = Tile::CLUSTER;
    constexpr int ACCUMULATORS = Tile::ACCUMULATORS, SLABS = Tile::SLABS, MOST_STAGES = Tile::MOST_STAGES;
    constexpr bool SWAPPED = Tile::SWAPPED;
    extern __shared__ uint8_t memory[];
    __shared__ alignas(8) uint64_t barriers[2 * MOST_STAGES];
    __shared__ int order[CONSUMERS];
    const uint32_t base = (shared_address(memory) + 1023) & ~1023u;
    const uint32_t full = shared_address(barriers), empty = full + 8 * MOST_STAGES;
    const int warpgroup = threadIdx.x / 128;
    uint32_t rank = 0;
    if constexpr (CLUSTER > 1)
        asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    int cluster = blockIdx.x / CLUSTER;
    if (work.across > 0 && cluster < work.cutters) // Neighbours then have the same part of K of neighbouring tiles.
        cluster = cluster % work.across * (work.cutters / work.across) + cluster / work.across;
    const int clusters = gridDim.x / CLUSTER;

    if (threadIdx.x == 0) {
        prefetch(&rows);
        prefetch(&columns);
        for (int i = 0; i < work.stages; ++i) {
            barrier_init(full + 8 * i, 1);
            barrier_init(empty + 8 * i, CONSUMERS * CLUSTER);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if constexpr (CLUSTER > 1) {
        asm volatile("barrier.cluster.arrive;" ::: "memory");
        asm volatile("barrier.cluster.wait;" ::: "memory");
    }
    wait_for_the_kernel_before();

    Walk walk(work, cluster, clusters);
    Segment segment;
    int stage = 0, parity = 0;
    if (warpgroup == CONSUMERS) {
        if constexpr (Tile::REGISTERS)
            asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x == 128 * CONSUMERS) {
            while (walk.next(segment)) {
                int row, column;
                place(work, segment.tile, row, column);
                row = (row * CLUSTER + rank) * work.height;
                const uint32_t bytes = SLABS * (work.height + N) * 128;
                for (int step = segment.begin; step < segment.end; ++step) {
                    barrier_wait(empty + 8 * stage, parity ^ 1);
                    const uint32_t to = base + stage * work.stage_bytes, barrier = full + 8 * stage;
                    barrier_expect(barrier, bytes);
#pragma unroll
                    for (int slab = 0; slab < SLABS; ++slab)
                        load(to + slab * work.row_bytes, &rows, (step * SLABS + slab) * DEPTH, row, barrier);
#pragma unroll
                    for (int slab = 0; slab < SLABS; ++slab) {
                        const uint32_t to_columns = to + SLABS * work.row_bytes + slab * N * 128;
                        const int k = (step * SLABS + slab) * DEPTH;
                        if constexpr (CLUSTER > 1)
                            load_for_all(to_columns + rank * (N / CLUSTER) * 128, &columns, k,
                                         column * N + rank * (N / CLUSTER), barrier, (1 << CLUSTER) - 1);
                        else
                            load(to_columns, &columns, k, column * N, barrier);
                    }
                    if (++stage == work.stages)
                        stage = 0, parity ^= 1;
                }
            }
        }
    } else {
        if constexpr (Tile::REGISTERS)
            asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        const int thread = threadIdx.x % 128;
        uint8_t *staged = memory + (base - shared_address(memory)) + work.stages * work.stage_bytes +
                          warpgroup * Tile::STAGING;
        float d[BLOCKS][ACCUMULATORS];
        // A tile's results wait here until the next one is being multiplied.
        constexpr int PIECES = Tile::PIECES;
        Packed waiting[PIECES + 1];
        int next = PIECES, waiting_row = 0, waiting_column = 0, used = 0;
        const auto write_next = [&] {
#pragma unroll
            for (int piece = 0; piece < PIECES; ++piece)
                if (piece == next)
                    write_piece(waiting[piece], &result, shared_address(staged), used, warpgroup, waiting_row,
                                waiting_column + piece * 64);
            ++next;
        };
        while (walk.next(segment)) {
            int row, column;
            place(work, segment.tile, row, column);
            row = (row * CLUSTER + rank) * work.height;
            Output own = out;
            if constexpr (SWAPPED)
                own.n = min(out.n, (int64_t)row + work.height);
            row += warpgroup * 64 * BLOCKS;
            Pieces pieces;
            int before = -1;
            for (int step = segment.begin; step < segment.end; ++step) {
                barrier_wait(full + 8 * stage, parity);
                const uint32_t at = base + stage * work.stage_bytes;
#pragma unroll
                for (int block = 0; block < BLOCKS; ++block)
                    keep(d[block]);
                products_begin();
#pragma unroll
                for (int slab = 0; slab < SLABS; ++slab) {
                    const uint64_t a = descriptor(at + slab * work.row_bytes + warpgroup * 64 * BLOCKS * 128);
                    const uint64_t b = descriptor(at + SLABS * work.row_bytes + slab * N * 128);
#pragma unroll
                    for (int k = 0; k < DEPTH / 16; ++k)
#pragma unroll
                        for (int block = 0; block < BLOCKS; ++block)
                            multiply<N, BFLOAT>(d[block], a + block * 512 + k * 2, b + k * 2,
                                                step > segment.begin || slab + k > 0);
                }
                products_commit();
#pragma unroll
                for (int block = 0; block < BLOCKS; ++block)
                    keep(d[block]);
                products_wait<1>();
                if (before >= 0 && thread < CLUSTER)
                    barrier_arrive(empty + 8 * before, thread);
                before = stage;
                if (++stage == work.stages)
                    stage = 0, parity ^= 1;
                if (next < PIECES)
                    write_next();
            }
            while (next < PIECES)
                write_next();
            products_wait<0>();
#pragma unroll
            for (int block = 0; block < BLOCKS; ++block)
                keep(d[block]);
            if (thread < CLUSTER)
                barrier_arrive(empty + 8 * before, thread);

            if (segment.end - segment.begin < work.steps) { // Others have the rest of K: the last to come adds up.
                const int tile = segment.tile - work.whole;
                const int64_t from = (int64_t)tile * work.steps, to = from + work.steps;
                int first = cluster, last = cluster;
                while (Walk::first_stage(work, first) > from)
                    --first;
                while (Walk::first_stage(work, last + 1) < to)
                    ++last;
                constexpr int64_t PART = (int64_t)BLOCKS * ACCUMULATORS * 128;
                const Parts parts = {partial + (rank * CONSUMERS + warpgroup) * PART, 2 * CLUSTER * CONSUMERS * PART,
                                     CLUSTER * CONSUMERS * PART, first, last, cluster,
                                     counters + (tile * CLUSTER + rank) * CONSUMERS + warpgroup};
                bool added = false;
                if constexpr (Tile::TOGETHER)
                    if (work.together)
                        pieces = add_up_together<Tile>(d[0], parts, warpgroup), added = true;
                if (!added && !add_up_as_last<Tile>(d, parts, work, tile, &order[warpgroup], warpgroup))
                    continue;
            }
            if constexpr (PIECES > 0) {
                static_assert(BLOCKS == 1, "");
                if (by_engine) {
                    waiting_row = row, waiting_column = column * N;
#pragma unroll
                    for (int piece = 0; piece < PIECES; ++piece)
                        waiting[piece] = packed<BFLOAT>(d[0] + piece * 32);
                    next = 0;
                    if (pieces.each > 1) {
#pragma unroll
                        for (int piece = 0; piece < PIECES; ++piece)
                            if (pieces.has(piece))
                                write_piece(waiting[piece], &result, shared_address(staged), used, warpgroup, row,
                                            column * N + piece * 64);
                        next = PIECES;
                    }
                    continue;
                }
            }
#pragma unroll
            for (int block = 0; block < BLOCKS; ++block) {
                if constexpr (SWAPPED && N <= 16)
                    write_few<N, BFLOAT>(d[block], own, row + block * 64, (int64_t)column * N);
                else
                    write_anywhere<N, BFLOAT, SWAPPED>(d[block], reinterpret_cast<uint16_t *>(staged), warpgroup, own,
                                                       row + block * 64, (int64_t)column * N, pieces);
            }
        }
        while (next < PIECES)
            write_next();
        if (thread == 0)
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    if constexpr (CLUSTER > 1) { // Nobody leaves whose memory or barriers others may still write to.
        asm volatile("barrier.cluster.arrive;" ::: "memory");
        asm volatile("barrier.cluster.wait;" ::: "memory");
    }
}

// --- rows that the copy engine cannot address ------------------------------------------------------------------

struct Copy {
    const uint16_t *from;
    uint4 *to;
    int64_t stride, k; // Elements from one row to the next, and of a row.
    int64_t vectors;   // In all: rows times `each`.
    int each;          // Vectors of eight elements of a row.
};

__device__ __forceinline__ uint4 shifted(const uint4 low, const uint4 high, uint32_t bytes) {
    uint32_t w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    if (bytes & 8)
        w[0] = w[2], w[1] = w[3], w[2] = w[4], w[3] = w[5], w[4] = w[6], w[5] = w[7];
    if (bytes & 4)
        w[0] = w[1], w[1] = w[2], w[2] = w[3], w[3] = w[4], w[4] = w[5];
    const uint32_t bits = bytes & 2 ? 16 : 0;
    return make_uint4(__funnelshift_r(w[0], w[1], bits), __funnelshift_r(w[1], w[2], bits),
                      __funnelshift_r(w[2], w[3], bits), __funnelshift_r(w[3], w[4], bits));
}

// Copies rows that begin at any element to rows that begin at multiples of 16 bytes. What lies behind a row's end is
// of no account: the copy engine is told where K ends.
__global__ void __launch_bounds__(256) align(const Copy a, const Copy b) {
    wait_for_the_kernel_before();
    constexpr int TOGETHER = 4;
    const int64_t all = a.vectors + b.vectors, threads = (int64_t)gridDim.x * blockDim.x;
    for (int64_t first = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; first < all; first += threads * TOGETHER) {
        uint4 low[TOGETHER], high[TOGETHER];
        uint32_t offset[TOGETHER];
        uint4 *to[TOGETHER];
#pragma unroll
        for (int i = 0; i < TOGETHER; ++i) {
            int64_t v = first + i * threads;
            to[i] = nullptr;
            if (v >= all)
                continue;
            const bool second = v >= a.vectors;
            const uint16_t *from = second ? b.from : a.from;
            const int64_t stride = second ? b.stride : a.stride, k = second ? b.k : a.k;
            const int each = second ? b.each : a.each;
            v -= second ? a.vectors : 0;
            to[i] = (second ? b.to : a.to) + v;
            const int64_t row = (uint64_t)v < (1ull << 32) ? (uint32_t)v / (uint32_t)each : v / each;
            const int64_t column = (v - row * each) * 8;
            const uintptr_t address = reinterpret_cast<uintptr_t>(from + row * stride + column);
            offset[i] = address & 15;
            const uint4 *at = reinterpret_cast<const uint4 *>(address & ~(uintptr_t)15);
            const int64_t bytes = 2 * min((int64_t)8, k - column);
            low[i] = __ldg(at);
            high[i] = offset[i] + bytes > 16 ? __ldg(at + 1) : low[i];
        }
#pragma unroll
        for (int i = 0; i < TOGETHER; ++i)
            if (to[i] != nullptr)
                *to[i] = shifted(low[i], high[i], offset[i]);
    }
}

// --- on the host ---------------------------------------------------------------------------------------------

using Encode = CUresult (*)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                            const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                            CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

struct Matrix {
    void *data;
    int64_t rows, columns, stride;
    bool bfloat;

    bool addressable() const { return reinterpret_cast<uintptr_t>(data) % 16 == 0 && stride % 8 == 0; }
};

// Where one slab is loaded at a time, the L2 reads ahead what the next one needs.
int describe(CUtensorMap *map, const Matrix &matrix, int box_rows, int slabs = 1) {
    static Encode encode = nullptr;
    if (encode == nullptr) {
        cudaDriverEntryPointQueryResult found;
        void *address = nullptr;
        if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address, 12000, cudaEnableDefault, &found))
            return 101;
        encode = reinterpret_cast<Encode>(address);
    }
    const cuuint64_t sizes[2] = {(cuuint64_t)matrix.columns, (cuuint64_t)matrix.rows};
    const cuuint64_t strides[1] = {(cuuint64_t)matrix.stride * 2};
    const cuuint32_t box[2] = {DEPTH, (cuuint32_t)box_rows}, steps[2] = {1, 1};
    return encode(map, matrix.bfloat ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2,
                  matrix.data, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                  CU_TENSOR_MAP_SWIZZLE_128B,
                  slabs > 1 ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B : CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS
               ? 0
               : 102;
}

template <class... Parameters, class... Arguments>
cudaError_t start(void (*kernel)(Parameters...), int blocks, int threads, int bytes, int cluster, bool early,
                  cudaStream_t stream, const Arguments &...arguments) {
    cudaLaunchAttribute attributes[2];
    unsigned count = 0;
    if (cluster > 1) {
        attributes[count].id = cudaLaunchAttributeClusterDimension;
        attributes[count++].val.clusterDim = {(unsigned)cluster, 1, 1};
    }
    if (early) {
        attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[count++].val.programmaticStreamSerializationAllowed = 1;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = bytes;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = count;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

// Memory that lives as long as the process and only grows. A first call of every shape comes before any is timed.
void *scratch(int which, size_t bytes, bool zeroed = false) {
    static void *memory[3];
    static size_t size[3];
    if (size[which] < bytes) {
        if (memory[which] != nullptr)
            cudaFree(memory[which]);
        size[which] = 0;
        if (cudaMalloc(&memory[which], bytes) != cudaSuccess)
            return memory[which] = nullptr;
        if (zeroed && cudaMemset(memory[which], 0, bytes) != cudaSuccess)
            return nullptr;
        size[which] = bytes;
    }
    return memory[which];
}

int64_t up(int64_t count, int64_t by) { return (count + by - 1) / by; }

int processors() {
    static int count = 0;
    if (count == 0)
        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0);
    return count;
}

struct Choice {
    int consumers, blocks, columns, cluster, resident;
    bool swapped;
    int slabs;
    int cut; // See `cut_up`.
    int band;
    bool early; // Whether it is launched while the kernel before still runs.
    int height = 0; // Rows of a tile; 0: all that its instructions take.
};

// 0: whole tiles alone. Else the tiles of the last, partly filled wave are cut along K: 1, in as many equal parts as
// there are clusters; 2, each into the same number of parts, so that clusters which share operands walk along K side
// by side.
void cut_up(Work &work, int cut, int &clusters) {
    const int waves = work.tiles / clusters, left = work.tiles % clusters;
    work.whole = work.tiles, work.cutters = 1;
    if (cut != 0 && left > 0) {
        const int wanted = cut == 2 ? clusters / left * left : clusters;
        // Each gets a few stages of K at least: adding up costs as much.
        int parts = std::min<int64_t>(wanted, (int64_t)left * work.steps / LEAST_STEPS);
        if (cut == 2)
            parts = parts / left * left;
        if (parts > left && (waves == 0 || parts == wanted))
            work.whole = work.tiles - left, work.cutters = parts;
    }
    if (waves == 0)
        clusters = work.whole == work.tiles ? work.tiles : work.cutters;
}

// How many clusters of a kernel the device holds at once. Returns 0 or what failed.
template <class Kernel> int at_once(Kernel *kernel, int threads, int bytes, int cluster, int *count) {
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) != cudaSuccess)
        return 104;
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {(unsigned)cluster, 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(cluster);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = bytes;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaOccupancyMaxActiveClusters(count, kernel, &config) == cudaSuccess && *count > 0 ? 0 : 104;
}

template <class Tile, bool BFLOAT>
int launch(const Matrix &a, const Matrix &b, const Matrix &c, const Choice &choice, cudaStream_t stream) {
    const Matrix &rows = Tile::SWAPPED ? b : a, &columns = Tile::SWAPPED ? a : b;
    CUtensorMap maps[3] = {};
    const bool by_engine = !Tile::SWAPPED && Tile::N % 64 == 0 && c.addressable();
    // What its instructions read behind the tile's own rows must lie in the ring.
    const bool lower = choice.height != 0 && choice.height < Tile::ROWS && choice.height + Tile::N >= Tile::ROWS;
    const int height = lower ? choice.height : Tile::ROWS;
    int failed = describe(&maps[0], rows, height, Tile::SLABS);
    failed = failed ? failed : describe(&maps[1], columns, Tile::N / Tile::CLUSTER);
    failed = failed || !by_engine ? failed : describe(&maps[2], c, 64);
    if (failed)
        return failed;
    Work work = {};
    work.height = height;
    work.row_tiles = up(rows.rows, height * Tile::CLUSTER);
    work.column_tiles = (columns.rows + Tile::N - 1) / Tile::N;
    work.steps = up(a.columns, DEPTH * Tile::SLABS);
    work.row_bytes = up(height, 8) * 1024;
    work.stage_bytes = Tile::SLABS * (work.row_bytes + Tile::N * 128);
    work.stages = std::min(Tile::RING_BYTES / work.stage_bytes, Tile::MOST_STAGES);
    const int bytes = Tile::OTHER_BYTES + work.stages * work.stage_bytes;
    work.band = std::max(1, std::min(choice.band, work.row_tiles));
    work.tiles = work.row_tiles * work.column_tiles;
    const auto kernel = gemm<Tile, BFLOAT>;
    static int clusters_at_once = 0;
    if (clusters_at_once == 0 &&
        (failed = at_once(kernel, Tile::THREADS, Tile::OTHER_BYTES + Tile::RING_BYTES, Tile::CLUSTER,
                          &clusters_at_once)) != 0)
        return failed;
    int clusters = clusters_at_once;
    cut_up(work, choice.cut, clusters);
    float *partial = nullptr;
    int *counters = nullptr;
    if (work.whole < work.tiles) {
        const size_t part = (size_t)Tile::ROWS * Tile::N * Tile::CLUSTER * sizeof(float);
        partial = static_cast<float *>(scratch(0, part * 2 * work.cutters));
        counters = static_cast<int *>(scratch(1, COUNTERS * sizeof(int), true));
        const int64_t needed = (int64_t)(work.tiles - work.whole) * Tile::CLUSTER * Tile::CONSUMERS;
        if (partial == nullptr || counters == nullptr || needed > COUNTERS / 2)
            return 103;
        if (work.cutters % (work.tiles - work.whole) == 0)
            work.together = true, work.across = work.tiles - work.whole;
    }
    const Output out = {c.data, c.stride, c.rows, c.columns};
    return start(kernel, clusters * Tile::CLUSTER, Tile::THREADS, bytes, Tile::CLUSTER, choice.early, stream, maps[0],
                 maps[1], maps[2], work, out, by_engine, partial, counters) == cudaSuccess
               ? 0
               : 105;
}

Copy copy_of(Matrix &matrix, uint4 *to) {
    if (matrix.addressable())
        return {};
    const int each = (matrix.columns + 7) / 8;
    const Copy copy = {static_cast<const uint16_t *>(matrix.data), to, matrix.stride, matrix.columns,
                       matrix.rows * each, each};
    matrix.data = to, matrix.stride = 8 * each;
    return copy;
}

// What there is: consumers, blocks, columns, cluster, resident, swapped, slabs.
#define CONFIGURATIONS(X)                                                                                              \
    X(2, 1, 256, 1, 1, false, 1) X(2, 1, 256, 2, 1, false, 1) X(2, 1, 192, 2, 1, false, 1)                             \
    X(2, 1, 128, 1, 1, false, 1) X(1, 1, 16, 1, 2, true, 2) X(2, 1, 32, 1, 2, true, 1) X(2, 1, 64, 1, 2, true, 1)      \
    X(1, 3, 64, 1, 1, true, 2) X(2, 1, 96, 1, 1, true, 1) X(2, 1, 128, 1, 1, true, 1) X(2, 1, 160, 1, 1, true, 1)
#define HALF_CONFIGURATIONS(X) X(2, 1, 128, 1, 1, false, 1) X(2, 1, 64, 1, 2, true, 1)

template <bool BFLOAT>
int run(const Matrix &a, const Matrix &b, const Matrix &c, const Choice &choice, cudaStream_t stream) {
#define TRY(CONSUMERS, BLOCKS, N, CLUSTER, RESIDENT, SWAPPED, SLABS)                                                   \
    if (choice.consumers == CONSUMERS && choice.blocks == BLOCKS && choice.columns == N && choice.cluster == CLUSTER && \
        choice.resident == RESIDENT && choice.swapped == SWAPPED && choice.slabs == SLABS)                             \
        return launch<Tile<CONSUMERS, BLOCKS, N, CLUSTER, RESIDENT, SWAPPED, SLABS>, BFLOAT>(a, b, c, choice, stream);
    if constexpr (BFLOAT) {
        CONFIGURATIONS(TRY)
    } else {
        HALF_CONFIGURATIONS(TRY)
    }
#undef TRY
    return 106;
}

// Rows of a tile such that as few waves as can be are full; `most` that its instructions take, `least` that they allow.
int level(int64_t rows, int most, int least) {
    const int64_t tiles = up(rows, (int64_t)most * processors()) * processors();
    return std::max<int64_t>(least, up(up(rows, tiles), 8) * 8);
}

// Few rows: they become the columns, and B is streamed once. One wave of tiles at most, if that can be.
Choice few_rows(int64_t m, int64_t n) {
    if (m <= 16) {
        const int height = level(n, 64, 48);
        return {1, 1, 16, 1, 2, true, 2, up(n, height) <= processors() / 2 ? 2 : 0, 1, false, height};
    }
    if (m <= 32)
        return {2, 1, 32, 1, 2, true, 1, 2, 1, false};
    if (m <= 64) {
        if (n <= 64 * processors())
            return {2, 1, 64, 1, 2, true, 1, 2, 1, false};
        return {1, 3, 64, 1, 1, true, 2, 0, 1, false, level(n, 192, 128)};
    }
    Choice best = {};
    for (int columns : {96, 128, 160})
        if (best.columns == 0 || up(m, columns) * columns < up(m, best.columns) * best.columns)
            best = {2, 1, columns, 1, 1, true, 1, 2, 1, true};
    return best;
}

// The tile that needs the least time: waves times columns, weighed by what was measured for each at equal work. Where
// rows were copied, blocks that share nothing drift apart.
Choice many_rows(int64_t m, int64_t n, int64_t k, bool copied) {
    const struct {
        int columns, cluster;
        double weight;
    } tiles[] = {{256, 1, 1.0}, {256, 2, copied ? 0.98 : 1.01}, {192, 2, 1.04}, {128, 1, 1.15}};
    Choice best = {};
    double least = 0;
    for (const auto &tile : tiles) {
        const int64_t across = up(n, tile.columns), count = up(m, 128 * tile.cluster) * across;
        const int64_t clusters = processors() / tile.cluster;
        const bool cut = count <= clusters / 2; // Along K.
        const double waves = cut ? 1.0 / (clusters / count) : up(count, clusters);
        const double cost = waves * tile.columns * tile.weight;
        if (best.columns != 0 && cost >= least)
            continue;
        const int band = across >= 16 && k >= 1024 ? 16 / tile.cluster : 4;
        best = {2, 1, tile.columns, tile.cluster, 1, false, 1, cut ? 2 : 0, band, false}, least = cost;
    }
    return best;
}

Choice choose(int64_t m, int64_t n, int64_t k, bool bfloat, bool copied) {
    if (!bfloat)
        return m <= 64 ? Choice{2, 1, 64, 1, 2, true, 1, 1, 1, true} : Choice{2, 1, 128, 1, 1, false, 1, 1, 8, true};
    return m <= 320 ? few_rows(m, n) : many_rows(m, n, k, copied);
}

Matrix matrix_of(const solmark_tensor &tensor) {
    return {tensor.data, tensor.shape[0], tensor.shape[1], tensor.strides[0], tensor.dtype == SOLMARK_BFLOAT16};
}

} // namespace

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *on) {
    Matrix a = matrix_of(tensors[0]), b = matrix_of(tensors[1]);
    const Matrix c = matrix_of(tensors[2]);
    cudaStream_t stream = static_cast<cudaStream_t>(on);
    const auto room = [](const Matrix &m) { return m.addressable() ? 0 : m.rows * ((m.columns + 7) / 8); };
    const int64_t needed = room(a) + room(b);
    Choice choice = choose(a.rows, b.rows, a.columns, a.bfloat, needed > 0);
#ifdef SOL_GEMM_TUNE
    if (const int *own = sol_gemm_choice; own[0])
        choice = {own[0], own[1], own[2], own[3], own[4], own[5] != 0, own[6], own[7], own[8], own[9] != 0, own[10]};
#endif
    if (needed > 0) {
        uint4 *to = static_cast<uint4 *>(scratch(2, needed * sizeof(uint4)));
        if (to == nullptr)
            return 107;
        const Copy first = copy_of(a, to), second = copy_of(b, to + first.vectors);
        const int64_t blocks = (first.vectors + second.vectors + 1023) / 1024;
        const int most = processors() * 8;
        const int count = std::min<int64_t>(blocks, most);
        if (start(align, count, 256, 0, 1, choice.early, stream, first, second) != cudaSuccess)
            return 108;
    }
    return a.bfloat ? run<true>(a, b, c, choice, stream) : run<false>(a, b, c, choice, stream);
}
