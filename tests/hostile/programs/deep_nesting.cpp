// hostile: family=build verdict=time_limit,memory_limit,build_error lift=wall shows=alive
// Nests so deep that the compiler does not come to its end, or crashes.
#define A(x) ((((((((((((((((((((((((((((((((x))))))))))))))))))))))))))))))))
#define B(x) A(A(A(A(A(A(A(A(x))))))))
#define C(x) B(B(B(B(B(B(B(B(x))))))))
#define D(x) C(C(C(C(C(C(C(C(x))))))))
#define E(x) D(D(D(D(D(D(D(D(x))))))))
extern "C" int solve() { return E(0); }
