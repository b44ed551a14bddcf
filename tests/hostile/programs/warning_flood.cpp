// hostile: family=build verdict=time_limit rank=output_limit,time_limit lift=wall shows=alive
// Warns without end: a gigabyte of messages.
#if __INCLUDE_LEVEL__ < 60
#warning "a warning that is as long as a warning may be, and then a little longer, and then longer again"
#include "solution.cpp"
#include "solution.cpp"
#endif
