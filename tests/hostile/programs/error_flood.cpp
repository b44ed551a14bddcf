// hostile: family=build verdict=build_error lift=judge shows=exit:1
// A mistake that makes millions of messages.
#define A(x) x x x x x x x x x x
#define B(x) A(A(A(A(x))))
B(undeclared;)
