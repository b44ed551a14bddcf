// hostile: family=build verdict=memory_limit,time_limit lift=judge shows=memory:2048
// A macro of macros of macros: a hundred thousand million words.
#define A(x) x x x x x x x x x x
#define B(x) A(A(A(A(x))))
#define C(x) B(B(x))
extern "C" long solve() { return C(+1) 0; }
