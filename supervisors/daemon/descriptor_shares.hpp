#pragma once
#include <cstdint>

#include "messaging/errors/status.hpp"

namespace troupe::supervisors {

/// File descriptors an operator asks for; see the options of the same names.
struct DescriptorWishes {
  int64_t limit = 0;  ///< of the process
  int64_t connections = 10'000;
  int64_t openTables = 0;  ///< 0: what is left
  int64_t reserve = 0;     ///< 0: a tenth of the limit, at least 64
};

/// The process's limit of open descriptors (RLIMIT_NOFILE), divided so that neither connections nor tables can take
/// those the engine needs: when its journal cannot be opened, the process ends.
struct DescriptorShares {
  int64_t limit = 0;
  int64_t reserve = 0;      ///< the engine's own files, the log, temporary files
  int64_t links = 0;        ///< of other nodes
  int64_t admin = 0;        ///< connections of the admin endpoint
  int64_t connections = 0;  ///< of clients
  int64_t tables = 0;       ///< files of collections and indexes
};

/// Fewest descriptors a server starts with.
inline constexpr int64_t kFewestDescriptors = 256;

/// Tables get half of what the reserve leaves, and what connections do not ask for. Errors: InvalidOptions (the limit
/// or what remains of it is too small).
StatusWith<DescriptorShares> shareDescriptors(const DescriptorWishes& wishes);

/// Raises the process's soft limit to the hard one and gives what it may open from then on.
int64_t raiseDescriptorLimit();

}  // namespace troupe::supervisors
