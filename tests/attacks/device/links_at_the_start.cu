// attack: task=busy family=linked expected=wrong_answer gain=time
// First all links, from outputs that are not there yet; then all calls side by side.
#define STREAMS 8
#define LINKS 2
#include "linked.cuh"
