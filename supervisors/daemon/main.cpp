#include "supervisors/daemon/daemon.hpp"

/// Read by jemalloc when it starts; MALLOC_CONF in the environment goes before it. What was freed goes back to the
/// system within a quarter of a second instead of ten: else operations that take and leave their memory quickly keep
/// twice as much of it as the node allows all of them together.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "dirty_decay_ms:250";
}

int main(int argc, char** argv) { return troupe::supervisors::runDaemon(argc, argv); }
