#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "messaging/log/verbosity.hpp"

namespace spdlog {
class logger;
namespace sinks {
template <class Mutex>
class dist_sink;
}
}  // namespace spdlog

namespace troupe::log {

enum class Severity : char { kDebug = 'D', kInfo = 'I', kWarning = 'W', kError = 'E', kFatal = 'F' };

std::string_view componentName(Component component);

enum class Format { kJson, kText };

struct Options {
  Format format = Format::kJson;
  std::string file;    ///< empty: standard output
  int verbosity = 0;   ///< 1 to 5: debug lines up to this level, of all components
  size_t keep = 1024;  ///< newest lines kept in memory for getLog
};

/// The node's structured log: one JSON line `{t,s,c,id,ctx,msg,attr}` for each event, or human text on a terminal. The
/// id of a line is stable across versions, so that tools can look for it. Attributes are cut to a bounded size;
/// `truncated` then names them. Thread-safe; writing is by spdlog. Every node
/// owns its log, so that several nodes in one process do not mix theirs.
class Log {
 public:
  /// `wallMillis` gives the time of a line, so that simulated nodes log virtual time. Throws when the file cannot be
  /// opened.
  Log(const Options& options, std::function<int64_t()> wallMillis);
  ~Log();

  /// A debug line: kept if the component's verbosity is at least `level`, 1 to 5.
  void debug(int level, Component c, int id, std::string_view context, std::string_view message,
             bson::View attributes = {}) {
    if (wants(level, c)) put(Severity::kDebug, level, c, id, context, message, attributes);
  }
  void info(Component c, int id, std::string_view context, std::string_view message, bson::View attributes = {}) {
    put(Severity::kInfo, 0, c, id, context, message, attributes);
  }
  void warning(Component c, int id, std::string_view context, std::string_view message, bson::View attributes = {}) {
    put(Severity::kWarning, 0, c, id, context, message, attributes);
  }
  void error(Component c, int id, std::string_view context, std::string_view message, bson::View attributes = {}) {
    put(Severity::kError, 0, c, id, context, message, attributes);
  }

  /// True when debug lines of this level are kept: lets callers skip building attributes.
  bool wants(int level, Component component) const { return verbosity_->of(component) >= level; }
  /// Filter of debug lines; may be changed at any time.
  const std::shared_ptr<Verbosity>& verbosity() const { return verbosity_; }
  /// The newest lines as JSON, oldest first; `startupWarnings` only those of severity W written before `markStarted`.
  std::vector<std::string> recentLines() const;
  std::vector<std::string> startupWarnings() const;
  int64_t linesWritten() const;
  void markStarted();
  void flush();
  /// Gives the file a name with the present time, "trouped.log.2024-01-31T12-00-00", and begins a new one; returns the
  /// old one's new name. A file that somebody else has moved is just begun again. *Blocks* for a moment. Errors:
  /// IllegalOperation (the log is no file), OperationFailed (lines go on into the old file).
  StatusWith<std::string> rotate();

 private:
  void put(Severity severity, int level, Component component, int id, std::string_view context,
           std::string_view message, bson::View attributes);

  const Options options_;
  const std::shared_ptr<Verbosity> verbosity_ = std::make_shared<Verbosity>();
  const std::function<int64_t()> wallMillis_;
  const std::shared_ptr<spdlog::sinks::dist_sink<std::mutex>> output_;  ///< of one: the file, or standard output
  std::shared_ptr<spdlog::logger> sink_;
  std::mutex rotation_;
  mutable std::mutex mutex_;
  std::deque<std::string> recent_;
  std::vector<std::string> startupWarnings_;
  int64_t written_ = 0;
  bool started_ = false;
};

}  // namespace troupe::log
