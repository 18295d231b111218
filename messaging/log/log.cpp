#include "messaging/log/log.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <ctime>
#include <filesystem>
#include <iterator>

#include "messaging/bson/json.hpp"
#include "messaging/log/bounded_attributes.hpp"

namespace troupe::log {

namespace {

constexpr std::string_view kComponentNames[] = {"ACCESS",  "ACTOR",       "ADMIN", "COMMAND",  "CONTROL",
                                                "INDEX",   "NETWORK",     "QUERY", "RECOVERY", "REPL",
                                                "STORAGE", "SUPERVISION", "WRITE"};

spdlog::sink_ptr makeSink(const std::string& file) {
  if (file.empty()) return std::make_shared<spdlog::sinks::stdout_sink_mt>();
  return std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
}

/// "trouped.log.2024-01-31T12-00-00", with a count behind it where there is such a file.
std::string nameOfRotated(const std::string& file, int64_t millis) {
  const std::time_t seconds = millis / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H-%M-%S", &utc);
  const std::string name = file + "." + text;
  std::string free = name;
  std::error_code ignored;
  for (int count = 2; std::filesystem::exists(free, ignored); ++count) free = name + "-" + std::to_string(count);
  return free;
}

}  // namespace

std::string_view componentName(Component component) { return kComponentNames[static_cast<size_t>(component)]; }

Log::Log(const Options& options, std::function<int64_t()> wallMillis)
    : options_(options),
      wallMillis_(std::move(wallMillis)),
      output_(std::make_shared<spdlog::sinks::dist_sink_mt>(std::vector{makeSink(options.file)})),
      sink_(std::make_shared<spdlog::logger>("troupe", output_)) {
  sink_->set_pattern("%v");
  sink_->set_level(spdlog::level::trace);
  sink_->flush_on(spdlog::level::info);
  verbosity_->setBase(options.verbosity);
}

Log::~Log() { flush(); }

void Log::put(Severity severity, int level, Component component, int id, std::string_view context,
              std::string_view message, bson::View given) {
  const BoundedAttributes bounded(given);
  const bson::View attributes = bounded.shown;
  std::string letter(1, static_cast<char>(severity));
  if (severity == Severity::kDebug) letter += std::to_string(level);
  bson::Builder line;
  line.append("t", bson::Date{wallMillis_()}).append("s", letter).append("c", componentName(component));
  line.append("id", id).append("ctx", context).append("msg", message);
  if (!attributes.empty()) line.append("attr", attributes);
  if (!bounded.truncated.view().empty()) line.append("truncated", bounded.truncated);
  std::string json = bson::toRelaxedJson(line.finish());
  if (options_.format == Format::kText) {
    std::string text = letter + " " + std::string(componentName(component)) + " [" + std::string(context) + "] " +
                       std::string(message);
    if (!attributes.empty()) text += " " + bson::toRelaxedJson(attributes);
    if (!bounded.truncated.view().empty()) text += " truncated: " + bson::toRelaxedJson(bounded.truncated);
    sink_->info(text);
  } else {
    sink_->info(json);
  }
  const std::lock_guard lock(mutex_);
  ++written_;
  if (!started_ && severity == Severity::kWarning) startupWarnings_.push_back(json);
  recent_.push_back(std::move(json));
  if (recent_.size() > options_.keep) recent_.pop_front();
}

std::vector<std::string> Log::recentLines() const {
  const std::lock_guard lock(mutex_);
  return {recent_.begin(), recent_.end()};
}

std::vector<std::string> Log::startupWarnings() const {
  const std::lock_guard lock(mutex_);
  return startupWarnings_;
}

int64_t Log::linesWritten() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

void Log::markStarted() {
  const std::lock_guard lock(mutex_);
  started_ = true;
}

void Log::flush() { sink_->flush(); }

StatusWith<std::string> Log::rotate() {
  const std::lock_guard turn(rotation_);
  namespace fs = std::filesystem;
  std::error_code error;
  const bool isThere = fs::exists(options_.file, error);
  if (options_.file.empty() || (isThere && !fs::is_regular_file(options_.file, error)))
    return Status(ErrorCode::kIllegalOperation, "the log is not written to a file: see --logpath");
  flush();
  const std::string moved = nameOfRotated(options_.file, wallMillis_());
  if (isThere) fs::rename(options_.file, moved, error);
  if (error) return Status(ErrorCode::kOperationFailed, "cannot rename " + options_.file + ": " + error.message());
  try {
    const spdlog::sink_ptr next = makeSink(options_.file);
    next->set_pattern("%v");
    output_->set_sinks({next});
  } catch (const spdlog::spdlog_ex& failure) {
    return Status(ErrorCode::kOperationFailed, "cannot begin a new " + options_.file + ": " + failure.what());
  }
  info(Component::kControl, 23166, "log", "The log file was rotated", bson::doc("file", options_.file, "old", moved));
  return moved;
}

}  // namespace troupe::log
