#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"

namespace spdlog {
class logger;
}

namespace troupe::log {

enum class Severity : char { kDebug = 'D', kInfo = 'I', kWarning = 'W', kError = 'E', kFatal = 'F' };

/// The part of the server a line speaks of, as the "c" field.
enum class Component {
  kAccess,
  kActor,
  kAdmin,
  kCommand,
  kControl,
  kIndex,
  kNetwork,
  kQuery,
  kRecovery,
  kReplication,
  kStorage,
  kSupervision,
  kWrite
};
std::string_view componentName(Component component);

enum class Format { kJson, kText };

struct Options {
  Format format = Format::kJson;
  std::string file;                      ///< empty: standard output
  Severity threshold = Severity::kInfo;  ///< less severe lines are dropped
  size_t keep = 1024;                    ///< newest lines kept in memory for getLog
};

/// The node's structured log: one JSON line `{t,s,c,id,ctx,msg,attr}` for each event, or human text on a terminal. The
/// id of a line is stable across versions, so that tools can look for it. Thread-safe; writing is by spdlog. Every node
/// owns its log, so that several nodes in one process do not mix theirs.
class Log {
 public:
  /// `wallMillis` gives the time of a line, so that simulated nodes log virtual time. Throws when the file cannot be
  /// opened.
  Log(const Options& options, std::function<int64_t()> wallMillis);
  ~Log();

  void write(Severity severity, Component component, int id, std::string_view context, std::string_view message,
             bson::View attributes = {});
  void debug(Component c, int id, std::string_view context, std::string_view message, bson::View attributes = {}) {
    write(Severity::kDebug, c, id, context, message, attributes);
  }
  void info(Component c, int id, std::string_view context, std::string_view message, bson::View attributes = {}) {
    write(Severity::kInfo, c, id, context, message, attributes);
  }
  void warning(Component c, int id, std::string_view context, std::string_view message, bson::View attributes = {}) {
    write(Severity::kWarning, c, id, context, message, attributes);
  }
  void error(Component c, int id, std::string_view context, std::string_view message, bson::View attributes = {}) {
    write(Severity::kError, c, id, context, message, attributes);
  }

  /// True when lines of this severity are kept: lets callers skip building attributes.
  bool wants(Severity severity) const;
  /// The newest lines as JSON, oldest first; `startupWarnings` only those of severity W written before `markStarted`.
  std::vector<std::string> recentLines() const;
  std::vector<std::string> startupWarnings() const;
  int64_t linesWritten() const;
  void markStarted();
  void flush();

 private:
  const Options options_;
  const std::function<int64_t()> wallMillis_;
  std::shared_ptr<spdlog::logger> sink_;
  mutable std::mutex mutex_;
  std::deque<std::string> recent_;
  std::vector<std::string> startupWarnings_;
  int64_t written_ = 0;
  bool started_ = false;
};

}  // namespace troupe::log
