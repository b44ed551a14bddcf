// hostile: family=build verdict=build_error lift=sandbox shows=secret
// Has the compiler quote a file of the host in its errors.
#include "@FILE@"
