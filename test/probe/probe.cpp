#include "test/probe/probe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "test/probe/test_kit.hpp"

namespace troupe::probe {

namespace {
std::string asSeconds(Duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", std::chrono::duration<double>(time).count());
  return text;
}
}  // namespace

void reportFailure(const std::source_location& at, const std::string& what) {
  ADD_FAILURE_AT(at.file_name(), static_cast<int>(at.line())) << what;
}

void Letter::answer(StatusWith<Payload> outcome) {
  if (!context) return;
  if (outcome.isOK()) context->reply(std::move(*outcome));
  else context->fail(outcome.status());
  context.reset();
}

void Letter::forward(const Address& to) {
  if (!context) return;
  context->forward(to);
  context.reset();
}

Task<void> Question::keep(std::shared_ptr<State> state, Future<Answer> future) { state->answer = co_await future; }

std::string Question::textOfAnswer() const {
  const Answer& answer = *state_->answer;
  return answer.isOK() ? "answered " + kit_->text(*answer) : "refused: " + answer.status().toString();
}

std::shared_ptr<Letter> Question::await(PayloadType type, const char* name, Duration within,
                                        const std::source_location& at) {
  const std::string who = state_->to.toString();
  if (!kit_->runUntil([this] { return isAnswered(); }, within)) {
    reportFailure(at, who + " was to answer " + name + " within " + asSeconds(within) + ", and has not answered\n" +
                          kit_->rows());
    return nullptr;
  }
  if (!state_->answer->isOK() || (*state_->answer)->type() != type) {
    reportFailure(at, who + " was to answer " + name + ", and " + textOfAnswer() + "\n" + kit_->rows());
    return nullptr;
  }
  auto letter = std::make_shared<Letter>();
  letter->payload = **state_->answer;
  letter->from = state_->to;
  return letter;
}

std::string Question::expectFailure(ErrorCode code, Duration within, std::source_location at) {
  const std::string wanted = state_->to.toString() + " was to fail with " + errorName(code);
  if (!kit_->runUntil([this] { return isAnswered(); }, within)) {
    reportFailure(at, wanted + " within " + asSeconds(within) + ", and has not answered\n" + kit_->rows());
    return "";
  }
  if (state_->answer->status().code() != code)
    reportFailure(at, wanted + ", and " + textOfAnswer() + "\n" + kit_->rows());
  return state_->answer->status().reason();
}

void Question::expectNone(Duration during, std::source_location at) {
  if (kit_->runUntil([this] { return isAnswered(); }, during))
    reportFailure(at, state_->to.toString() + " was to be silent for " + asSeconds(during) + ", and " + textOfAnswer());
}

void Probe::send(const Address& to, Payload payload) const { kit_->send(address(), to, std::move(payload)); }

Question Probe::sendAsk(const Address& to, Payload payload, Duration timeout) const {
  return kit_->ask(address(), to, std::move(payload), timeout);
}

void Probe::know(PayloadType type, Printer printer) const {
  kit_->printers_.insert_or_assign(type, std::move(printer));
}

void Probe::watch(const Address& who) const { kit_->nodeOf(address().node()).postOffice().watch(address(), who); }

std::string Probe::whatCame(const std::vector<std::shared_ptr<Letter>>& letters) const {
  std::string lines;
  for (const auto& letter : letters) {
    char time[32];
    std::snprintf(time, sizeof time, "%9.3f  ", kit_->seconds(letter->at));
    lines +=
        time + kit_->text(letter->payload) + " from " + letter->from.toString() + (letter->asks ? ", asks" : "") + "\n";
  }
  return lines;
}

std::shared_ptr<Letter> Probe::next(const char* name, const std::function<bool(const Payload&)>& fits, bool skip,
                                    Duration within, const std::source_location& at) {
  std::vector<std::shared_ptr<Letter>> others;
  const TimePoint end = kit_->time().now() + within;
  while (kit_->runUntil([this] { return !inbox_->waiting.empty(); }, end - kit_->time().now())) {
    auto letter = std::move(inbox_->waiting.front());
    inbox_->waiting.pop_front();
    if (fits(letter->payload)) return letter;
    others.push_back(std::move(letter));
    if (!skip) break;
  }
  const std::string wanted = address().toString() + " expected " + name + " within " + asSeconds(within);
  if (others.empty()) reportFailure(at, wanted + ", and nothing came\n" + kit_->rows());
  else reportFailure(at, wanted + ", and there came\n" + whatCame(others) + kit_->rows());
  return nullptr;
}

void Probe::expectNone(Duration during, std::source_location at) {
  if (!kit_->runUntil([this] { return !inbox_->waiting.empty(); }, during)) return;
  reportFailure(at, address().toString() + " expected nothing for " + asSeconds(during) + ", and there came\n" +
                        whatCame({inbox_->waiting.begin(), inbox_->waiting.end()}));
}

Down Probe::expectEnd(const Address& who, Duration within, std::source_location at) {
  const auto isIt = [&who](const Payload& payload) { return payload.is<Down>() && payload.local<Down>().who == who; };
  const auto letter = next(("the end of " + who.toString()).c_str(), isIt, false, within, at);
  return letter ? letter->payload.local<Down>() : Down{};
}

}  // namespace troupe::probe
