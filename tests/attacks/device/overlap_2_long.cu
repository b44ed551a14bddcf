// attack: task=long family=overlap expected=overlap gain=time
// The calls of a round side by side on 2 streams, joined to the harness's own at once.
#define STREAMS 2
#include "overlap.cuh"
