#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "messaging/client/connection.hpp"
#include "supervisors/cli/terminal.hpp"

namespace troupe::demo {

enum class Shown { kText, kCount, kBytes };
struct AnswerColumn {
  std::string_view title;
  std::string_view path;  ///< dotted path into a result
  Shown shown = Shown::kText;
};

/// A question to the demonstration's data: how a person would type it in mongosh, and the command that it is.
struct Question {
  std::string_view title;
  std::string_view collection;
  std::string_view shell;
  std::string_view command;  ///< Extended JSON
  std::span<const AnswerColumn> columns;
};
std::span<const Question> demoQuestions();

/// How a plan found its documents: the name of the index it used, "_id", or empty for a scan of the collection. Reads
/// any answer of explain.
std::optional<std::string> indexOfPlan(bson::View explain);

/// Asks, times, explains and prints one question. Errors: the server's.
Status answer(client::Connection& connection, const Question& question, const supervisors::Paint& paint);

}  // namespace troupe::demo
