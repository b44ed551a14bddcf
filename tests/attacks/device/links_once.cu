// attack: task=busy family=linked expected=wrong_answer gain=time
// The links between pairs of calls alone: two calls at a time run side by side.
#define STREAMS 8
#define LINKS 3
#include "linked.cuh"
