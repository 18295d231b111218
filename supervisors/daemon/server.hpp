#pragma once
#include <memory>

#include "messaging/errors/status.hpp"
#include "supervisors/daemon/extension.hpp"
#include "supervisors/daemon/options.hpp"

namespace troupe::supervisors {

/// The node of the daemon (NodeAssembly) with what a process adds to it: options, signals, the file with the process's
/// id, the service manager. Used by the main thread.
class Server {
 public:
  explicit Server(Options options, Extension extension = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Opens the data directory, starts the tree and waits until all of it is ready. Errors have one line that says what
  /// to do.
  Status start();
  /// Instead of `start`: mends the data directory as far as possible, and logs what was found.
  /// ManualInterventionRequired when something is beyond repair.
  Status repair();
  /// Writes to the log, or to the log file if there is no log yet, why `start` or `repair` failed.
  void logFailure(const Status& reason);
  /// Waits for SIGTERM, SIGINT or the shutdown command; or for the failure of the storage engine or of the tree's root,
  /// which it returns.
  Status waitForStop();
  /// Drains: hello tells drivers to go, running requests get time to end, the tree stops in order, storage closes.
  void stop();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Makes SIGTERM, SIGINT, SIGHUP and SIGUSR1 wait for `Server::waitForStop` in every thread started after it; SIGPIPE
/// is ignored. Call first in main.
void blockSignals();

/// Whether the server was being started (or its directory repaired) when it failed, or had started.
enum class FailedWhile { kStarting, kRunning };
/// The process exit code for a failure, as operators' scripts and the unit of the service (RestartPreventExitStatus)
/// know them; docs/operators/running.md lists them. Of a server that had started no option is to blame.
int exitCodeFor(const Status& status, FailedWhile when);

}  // namespace troupe::supervisors
