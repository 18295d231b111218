#pragma once
#include <functional>
#include <string>

#include "test/model/model.hpp"

namespace troupe::model {

/// Plays an interaction script: lines at the margin are commands, and what they bring about is written below them,
/// indented, in place of what stood there. Comments (`#`) and empty lines stay. Throws std::invalid_argument, with the
/// line, for a command that can't be carried out.
///
///     model elections                        which model, by the caller's name
///     start                                  shows the machines at the beginning
///     timeout n1 ElectionTimeout             an armed timer fires
///     client n1 StepUp                       an event of Model::client
///     settle                                 messages arrive and actions end until all is quiet
///     deliver n1 -> n2 VoteRequest           so does `lose` and `duplicate`
///     ask again c -> a Drain                 a question without an answer
///     deliver n1 -> n2 VoteRequest then crash after 0      n2 has persisted, and dies before its first message
///     crash n1
///     restart n1
///
/// A command is some words of what Narrator::command says, in their order ("deliver n1 -> n2 VoteRequest dryRun=true");
/// the first action that fits is taken.
std::string playScript(const std::string& text, const std::function<Model(const std::string& name)>& modelOf);

}  // namespace troupe::model
