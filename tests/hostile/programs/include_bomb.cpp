// hostile: family=build verdict=time_limit lift=wall shows=alive
// Includes itself twice, at each of many levels.
#if __INCLUDE_LEVEL__ < 60
#include "solution.cpp"
#include "solution.cpp"
#endif
