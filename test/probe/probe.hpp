#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "test/probe/message.hpp"

namespace troupe::probe {

class TestKit;

/// How long is waited for what is expected, unless the test says otherwise; virtual time.
inline constexpr Duration kPatience = std::chrono::seconds(3);

/// A message as it arrived, with the duty to answer it.
struct Letter {
  TimePoint at;
  Payload payload;
  Address from;
  bool asks = false;
  std::optional<Context> context;  ///< until it is answered, or the node that has it dies

  void answer(StatusWith<Payload> outcome);
  void forward(const Address& to);
};

/// Messages received by a probe. Outlives the lives of its actor.
struct Inbox {
  Address self;
  std::deque<std::shared_ptr<Letter>> waiting;                                        ///< not looked at by the test yet
  std::vector<std::shared_ptr<Letter>> letters;                                       ///< all
  std::map<PayloadType, std::function<StatusWith<Payload>(const Payload&)>> answers;  ///< given at once
};

/// A message of type T that a test has received: its fields by `->` (a schema's struct by `read()`), and the ways to
/// answer it. After a failed expectation it is an empty T, and answers go nowhere.
template <class T>
class ReceivedMessage {
 public:
  using Value = std::conditional_t<SchemaType<T>, Received<T>, T>;

  ReceivedMessage(Value value, std::shared_ptr<Letter> letter) : value_(std::move(value)), letter_(std::move(letter)) {}

  const T& operator*() const requires(!SchemaType<T>) { return value_; }
  const T* operator->() const requires(!SchemaType<T>) { return &value_; }
  auto read() const requires SchemaType<T> { return value_.read(); }

  const Address& sender() const { return letter_->from; }
  bool asks() const { return letter_->asks; }
  /// Answers an ask; nothing happens if it was none, or is over.
  template <class Message>
  void reply(const Message& answer) const {
    letter_->answer(answerOf(answer));
  }
  void fail(Status why) const { letter_->answer(std::move(why)); }
  /// Hands it, with the duty to answer it, to another actor.
  void forward(const Address& to) const { letter_->forward(to); }

 private:
  Value value_;
  std::shared_ptr<Letter> letter_;
};

/// The value of a letter as a T. A letter that cannot be read as one is a failure of the test at `at`.
template <class T>
ReceivedMessage<T> receivedAs(std::shared_ptr<Letter> letter, const std::source_location& at);
void reportFailure(const std::source_location& at, const std::string& what);

/// An ask that a test has sent, and its answer to come.
class Question {
 public:
  /// The answer, a T. Anything else, a failure, and no answer in time are failures of the test.
  template <class T>
  ReceivedMessage<T> expectAnswer(Duration within = kPatience,
                                  std::source_location at = std::source_location::current());
  /// A failure of that code; its reason is returned.
  std::string expectFailure(ErrorCode code, Duration within = kPatience,
                            std::source_location at = std::source_location::current());
  /// No answer for so long.
  void expectNone(Duration during = Duration::zero(), std::source_location at = std::source_location::current());
  bool isAnswered() const { return state_->answer.has_value(); }

 private:
  friend class TestKit;
  struct State {
    Address to;
    std::optional<Answer> answer;
  };
  static Task<void> keep(std::shared_ptr<State> state, Future<Answer> future);
  Question(TestKit& kit, std::shared_ptr<State> state) : kit_(&kit), state_(std::move(state)) {}
  std::shared_ptr<Letter> await(PayloadType type, const char* name, Duration within, const std::source_location& at);
  std::string textOfAnswer() const;

  TestKit* kit_;
  std::shared_ptr<State> state_;
};

/// An actor under the test's control: it keeps what it is told and does what the test says. Made by TestKit::probe;
/// copies are the same actor. Expectations move virtual time as far as they have to, and look at one message after the
/// other.
class Probe {
 public:
  const Address& address() const { return inbox_->self; }

  /// The next message, which must be a T.
  template <class T>
  ReceivedMessage<T> expect(Duration within = kPatience, std::source_location at = std::source_location::current());
  /// The next T that fits; messages before it are dropped.
  template <class T>
  requires(!SchemaType<T>) ReceivedMessage<T> fish(std::function<bool(const T&)> fits, Duration within = kPatience,
                                                   std::source_location at = std::source_location::current());
  /// No message for so long; zero: none is there once all that is ready has run.
  void expectNone(Duration during = Duration::zero(), std::source_location at = std::source_location::current());
  /// Every T is answered at once from now on, with `reply(message)`: a message, or a Status that is not OK. It is there
  /// to be expected nevertheless.
  template <class T, class F>
  void alwaysAnswer(F reply);
  /// From now on a T waits until the test answers it.
  template <class T>
  void answerNoMore() {
    inbox_->answers.erase(typeOfMessage<T>());
  }

  template <class T>
  void tell(const Address& to, const T& message) const {
    send(to, payloadOf(message));
  }
  template <class T>
  Question ask(const Address& to, const T& message, Duration timeout = kNoTimeout) const {
    return sendAsk(to, payloadOf(message), timeout);
  }
  void watch(const Address& who) const;
  /// The next message, which must say that this actor has ended.
  Down expectEnd(const Address& who, Duration within = kPatience,
                 std::source_location at = std::source_location::current());

 private:
  friend class TestKit;
  Probe(TestKit& kit, std::shared_ptr<Inbox> inbox) : kit_(&kit), inbox_(std::move(inbox)) {}
  void send(const Address& to, Payload payload) const;
  Question sendAsk(const Address& to, Payload payload, Duration timeout) const;
  void know(PayloadType type, Printer printer) const;
  /// The next letter that fits, or null and a failure that says what was wanted and what came.
  std::shared_ptr<Letter> next(const char* name, const std::function<bool(const Payload&)>& fits, bool skip,
                               Duration within, const std::source_location& at);
  std::string whatCame(const std::vector<std::shared_ptr<Letter>>& letters) const;

  TestKit* kit_;
  std::shared_ptr<Inbox> inbox_;
};

template <class T>
ReceivedMessage<T> receivedAs(std::shared_ptr<Letter> letter, const std::source_location& at) {
  if constexpr (SchemaType<T>) {
    return {Received<T>(letter ? letter->payload : build<T>()), letter ? letter : std::make_shared<Letter>()};
  } else {
    static_assert(std::default_initializable<T>, "an expectation that fails returns an empty one");
    if (!letter) return {T{}, std::make_shared<Letter>()};
    auto value = valueOf<T>(letter->payload);
    if (!value.isOK()) reportFailure(at, value.status().toString());
    return {value.isOK() ? std::move(*value) : T{}, std::move(letter)};
  }
}

template <class T>
ReceivedMessage<T> Question::expectAnswer(Duration within, std::source_location at) {
  return receivedAs<T>(await(typeOfMessage<T>(), troupe::detail::payloadTypeInfo<T>().name, within, at), at);
}

template <class T>
ReceivedMessage<T> Probe::expect(Duration within, std::source_location at) {
  know(typeOfMessage<T>(), textOf<T>);
  return receivedAs<T>(next(troupe::detail::payloadTypeInfo<T>().name, carries<T>, false, within, at), at);
}

template <class T>
requires(!SchemaType<T>) ReceivedMessage<T> Probe::fish(std::function<bool(const T&)> fits, Duration within,
                                                        std::source_location at) {
  know(typeOfMessage<T>(), textOf<T>);
  const auto wanted = [&](const Payload& payload) {
    if (!carries<T>(payload)) return false;
    const auto value = valueOf<T>(payload);
    return value.isOK() && fits(*value);
  };
  return receivedAs<T>(next(troupe::detail::payloadTypeInfo<T>().name, wanted, true, within, at), at);
}

template <class T, class F>
void Probe::alwaysAnswer(F reply) {
  know(typeOfMessage<T>(), textOf<T>);
  inbox_->answers[typeOfMessage<T>()] = [reply](const Payload& payload) -> StatusWith<Payload> {
    auto value = valueOf<T>(payload);
    if (!value.isOK()) return value.status();
    return answerOf(reply(*value));
  };
}

}  // namespace troupe::probe
