// attack: task=busy family=overlap expected=wrong_answer gain=time
// The calls of a round side by side on 8 streams, joined to the harness's own at once.
#define STREAMS 8
#include "overlap.cuh"
