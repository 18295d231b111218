#include "supervisors/daemon/daemon.hpp"

/// Read by jemalloc when it starts; MALLOC_CONF in the environment goes before it. A thread that frees and allocates
/// gives back to the system what has been free for a quarter of a second, instead of ten: otherwise the process keeps,
/// beside what operations have, as much again that they had a moment ago, and their limit bounds half of it only.
/// Pieces of 8 MiB and more go at once, as `oversize_threshold` has it by default: kept as long as others they take
/// hostile operations half as far again over their limit, which costs more than the tenth of an initial sync's time
/// that it saves.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "dirty_decay_ms:250";
}

int main(int argc, char** argv) { return troupe::supervisors::runDaemon(argc, argv); }
