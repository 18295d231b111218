#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "messaging/errors/status.hpp"

namespace troupe::demo {

/// Signals that ask this process to stop (SIGINT, SIGTERM): held back and asked for, so that the work in hand can end
/// in order.
class StopSignals {
 public:
  StopSignals();
  /// Whether one has come.
  bool came();
  /// Waits until one comes (true), or until a child has ended and `goOn` says no (false).
  bool wait(const std::function<bool()>& goOn);

 private:
  bool came_ = false;
};

/// A `trouped` that this process started and will stop. It does not outlive the process.
class ServerProcess {
 public:
  struct Options {
    std::string program;
    std::string dbPath;
    std::string logPath;
    uint16_t port = 0;
    uint16_t adminPort = 0;
  };
  ServerProcess() = default;
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess() { stop(); }

  /// Starts it and waits until it answers. `goOn` is asked meanwhile. Errors: HostUnreachable when it ended (its own
  /// message stands on standard error), ExceededTimeLimit after a minute, Interrupted.
  Status start(const Options& options, const std::function<bool()>& goOn);
  /// Asks it to stop and waits until it has. Gives its exit code; 0 when there is none.
  int stop();
  bool running();

 private:
  Status waitUntilReady(const Options& options, const std::function<bool()>& goOn);

  pid_t pid_ = -1;
  int exitCode_ = 0;
};

}  // namespace troupe::demo
