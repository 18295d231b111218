#include "messaging/log/log.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

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

}  // namespace

std::string_view componentName(Component component) { return kComponentNames[static_cast<size_t>(component)]; }

Log::Log(const Options& options, std::function<int64_t()> wallMillis)
    : options_(options),
      wallMillis_(std::move(wallMillis)),
      sink_(std::make_shared<spdlog::logger>("troupe", makeSink(options.file))) {
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

}  // namespace troupe::log
