#include "actors/transport/outbox.hpp"

namespace troupe::link {

namespace {

/// Bytes of a failure's reason that are sent to the other node when the whole is too large.
constexpr size_t kLongestReason = 2000;

size_t roughSize(const Envelope& envelope) {
  size_t size = 256 + envelope.payload.words().asBytes().size();
  if (envelope.payload.attachment()) size += envelope.payload.attachment()->size();
  return size;
}

/// Message kinds this side may send over a link that it has opened; answers go over the link of their question.
bool isForOpener(MessageKind kind) {
  return kind == MessageKind::kTell || kind == MessageKind::kAsk || kind == MessageKind::kWatch ||
         kind == MessageKind::kUnwatch;
}

void wake(std::optional<Promise<Done>> waiter) {
  if (waiter) waiter->set(Done{});
}

/// Dropped promises of this type never complete: their waiters are gone with them.
Future<Done> already() {
  Promise<Done> promise;
  auto future = promise.future();
  promise.set(Done{});
  return future;
}

}  // namespace

Outbox::Outbox(PostOffice& office, Environment& environment, std::string peer, Limits limits,
               std::shared_ptr<LinkCounters> counters, std::shared_ptr<const server::ClusterClock> clock)
    : office_(office),
      environment_(environment),
      self_(office.node()),
      peer_(std::move(peer)),
      limits_(limits),
      counters_(std::move(counters)),
      clock_(std::move(clock)) {}

Outbox::~Outbox() = default;

void Outbox::send(Envelope envelope) noexcept {
  std::optional<Refusal> refusal;
  Waiter writer;
  {
    const std::lock_guard lock(mutex_);
    refusal = put(envelope);
    if (!queue_.empty()) writer = takeWaiter(writer_);
  }
  wake(std::move(writer));
  if (refusal) giveBack(std::move(envelope), *refusal);
}

std::optional<Outbox::Refusal> Outbox::put(Envelope& envelope) {
  if (!isForOpener(envelope.kind)) return Refusal{{ErrorCode::kIllegalOperation, "not for this link"}};
  if (state_ == State::kRefusing) return Refusal{why_, DeadLetter::kNotConnected};
  // Queued bulk does not count against messages of other lanes.
  const size_t overtaken = laneOf(envelope) == Lane::kBulk ? 0 : queue_.queue(Lane::kBulk).bytes();
  const bool full = queuedBytes() - overtaken > limits_.bytes || queue_.frames() + held_.size() >= limits_.messages ||
                    (envelope.kind == MessageKind::kAsk && pending_.size() >= limits_.asks);
  if (full) {
    return Refusal{{ErrorCode::kExceededMemoryLimit, "the queue of the link to " + peer_ + " is full"},
                   DeadLetter::kQueueFull};
  }
  if (state_ == State::kOpen) return encode(envelope);
  if (!envelope.payload.isSerializable()) return Refusal{checkSendable(envelope, SIZE_MAX), DeadLetter::kUnsendable};
  heldBytes_ += roughSize(envelope);
  held_.push_back(std::move(envelope));
  return std::nullopt;
}

std::optional<Outbox::Refusal> Outbox::encode(Envelope& envelope) {
  if (Status sendable = checkSendable(envelope, terms_.largestFrame); !sendable.isOK())
    return Refusal{std::move(sendable), DeadLetter::kUnsendable};
  const TimePoint now = environment_.now();
  if (envelope.deadline <= now)
    return Refusal{{ErrorCode::kExceededTimeLimit, "the deadline passed before the message could be sent"},
                   DeadLetter::kExpired};
  if (envelope.kind == MessageKind::kAsk && !envelope.reply) envelope.kind = MessageKind::kTell;
  if (envelope.kind == MessageKind::kAsk)
    envelope.correlation = pending_.add(std::move(envelope.reply), envelope.deadline);
  if (append(envelope, laneOf(envelope))) return std::nullopt;
  if (envelope.kind == MessageKind::kAsk) envelope.reply = pending_.take(envelope.correlation);
  return Refusal{{ErrorCode::kInvalidLength, "the message is larger than a link carries"}, DeadLetter::kUnsendable};
}

/// A watch and what was told before it keep their order like messages to one receiver.
Lane Outbox::laneOf(const Envelope& envelope) const {
  if (envelope.priority == Priority::kHigh) return Lane::kUrgent;
  if (contentSize(envelope) > kBulkFrom) return Lane::kBulk;
  return queue_.behindBulk(envelope.to.hash());
}

/// The one place in which a message gets the time of its sender: as late as can be, for those held back too.
bool Outbox::append(Envelope& envelope, Lane lane) {
  if (clock_) envelope.clusterTime = clock_->newest();
  const bool appended = appendMessage(queue_.queue(lane), envelope, environment_.now(), {peer_, self_},
                                      terms_.largestFrame, terms_.checksummed) > 0;
  if (lane == Lane::kBulk) queue_.noteBulk(envelope.to.hash());
  return appended;
}

void Outbox::giveBack(Envelope envelope, const Refusal& refusal) noexcept {
  if (envelope.kind == MessageKind::kWatch) office_.watchFailed(envelope.from, envelope.to, refusal.why);
  if (envelope.kind == MessageKind::kUnwatch || envelope.kind == MessageKind::kWatch) return;
  office_.countDead(refusal.counted);
  (envelope.reply ? counters_->failedAsks : counters_->dropped).fetch_add(1, std::memory_order_relaxed);
  envelope.reply.complete(refusal.why);
}

/// Answers are awaited one by one, so a small one may overtake a large one. The end of an actor is told behind all that
/// it has answered.
bool Outbox::appendAnswer(Envelope& envelope) {
  if (state_ != State::kOpen) return true;  // its asker has heard that the link is gone
  if (envelope.kind == MessageKind::kDown) return append(envelope, queue_.behindAll());
  return append(envelope, contentSize(envelope) > kBulkFrom ? Lane::kBulk : Lane::kOrdinary);
}

void Outbox::answer(uint64_t correlation, StatusWith<Payload> answer) noexcept {
  Envelope envelope;
  envelope.correlation = correlation;
  envelope.kind = MessageKind::kReply;
  Waiter writer;
  {
    const std::lock_guard lock(mutex_);
    if (serving_ > 0) --serving_;
    Status failure = answer.status();
    if (failure.isOK()) {
      envelope.payload = std::move(*answer);
      failure = checkSendable(envelope, terms_.largestFrame);
      if (failure.isOK() && !appendAnswer(envelope))
        failure = Status(ErrorCode::kInvalidLength, "the answer is larger than a link carries");
    }
    if (!failure.isOK()) {
      envelope.kind = MessageKind::kFailure;
      envelope.payload = Payload();
      envelope.failure = failure;
      if (!appendAnswer(envelope)) {
        envelope.failure = Status(failure.code(), failure.reason().substr(0, kLongestReason));
        appendAnswer(envelope);
      }
    }
    if (!queue_.empty()) writer = takeWaiter(writer_);
  }
  wake(std::move(writer));
}

void Outbox::down(const Address& watcher, const Address& watched, const Status& reason) noexcept {
  Envelope envelope;
  envelope.to = watcher;
  envelope.from = watched;
  envelope.kind = MessageKind::kDown;
  envelope.priority = Priority::kHigh;
  envelope.failure = reason;
  Waiter writer;
  {
    const std::lock_guard lock(mutex_);
    appendAnswer(envelope);
    writer = takeWaiter(writer_);
  }
  wake(std::move(writer));
}

Outbox::Lengths Outbox::lengths() const {
  const std::lock_guard lock(mutex_);
  return {queue_.frames() + held_.size() + writingFrames_, queuedBytes(), pending_.size() + serving_};
}

void Outbox::hold() {
  const std::lock_guard lock(mutex_);
  state_ = State::kHolding;
}

void Outbox::open(const Terms& terms) {
  if (!terms.key.empty()) proof_.emplace(terms.key);
  std::deque<std::pair<Envelope, Refusal>> refused;
  Waiter writer;
  {
    const std::lock_guard lock(mutex_);
    state_ = State::kOpen;
    terms_ = terms;
    terms_.checksummed = terms.checksummed && !proof_;
    queue_.setProven(proof_.has_value());
    for (Envelope& envelope : held_)
      if (auto refusal = encode(envelope)) refused.emplace_back(std::move(envelope), std::move(*refusal));
    held_.clear();
    heldBytes_ = 0;
    writer = takeWaiter(writer_);
  }
  wake(std::move(writer));
  for (auto& [envelope, refusal] : refused) giveBack(std::move(envelope), refusal);
}

void Outbox::refuse(const Status& why) {
  std::deque<Envelope> held;
  std::vector<ReplyDuty> pending;
  Waiter writer, reader;
  {
    const std::lock_guard lock(mutex_);
    state_ = State::kRefusing;
    why_ = why;
    held.swap(held_);
    heldBytes_ = writingBytes_ = writingFrames_ = serving_ = 0;
    pending = pending_.takeAll();
    queue_.clear();
    queue_.setProven(false);
    proof_.reset();
    writer = takeWaiter(writer_);
    reader = takeWaiter(reader_);
  }
  wake(std::move(writer));
  wake(std::move(reader));
  counters_->failedAsks.fetch_add(static_cast<int64_t>(pending.size()), std::memory_order_relaxed);
  for (auto& duty : pending) duty.complete(why);
  for (auto& envelope : held) giveBack(std::move(envelope), {why, DeadLetter::kNotConnected});
}

std::string Outbox::sealed(std::string_view frame) {
  if (!proof_) return std::string(frame);
  std::string record(ByteQueue::kRecordHeader, '\0');
  record += frame;
  sealRecord(record, *proof_);
  return record;
}

void Outbox::write(std::string_view frame) {
  Waiter writer;
  {
    const std::lock_guard lock(mutex_);
    queue_.queue(Lane::kUrgent).room(frame.size()).append(frame);
    writer = takeWaiter(writer_);
  }
  wake(std::move(writer));
}

bool Outbox::complete(Envelope answer) {
  ReplyDuty duty;
  {
    const std::lock_guard lock(mutex_);
    duty = pending_.take(answer.correlation);
  }
  if (!duty) return false;
  if (answer.kind == MessageKind::kReply) {
    duty.complete(std::move(answer.payload));
  } else if (answer.failure.isOK()) {
    duty.complete(Status(ErrorCode::kProtocolError, peer_ + " answered with a failure without a reason"));
  } else {
    duty.complete(std::move(answer.failure));
  }
  return true;
}

void Outbox::forgetExpired() {
  std::vector<ReplyDuty> expired;
  {
    const std::lock_guard lock(mutex_);
    expired = pending_.takeExpired(environment_.now());
  }
  for (auto& duty : expired) duty.complete(Status(ErrorCode::kExceededTimeLimit, peer_ + " did not answer in time"));
}

bool Outbox::serve() {
  const std::lock_guard lock(mutex_);
  return ++serving_ <= limits_.asks;
}

Future<Done> Outbox::filled() {
  const std::lock_guard lock(mutex_);
  if (!queue_.empty() || state_ == State::kRefusing) return already();
  writer_.emplace();
  return writer_->future();
}

Future<Done> Outbox::drained() {
  const std::lock_guard lock(mutex_);
  if (queuedBytes() <= limits_.bytes || state_ == State::kRefusing) return already();
  reader_.emplace();
  return reader_->future();
}

bool Outbox::isOverfull() const {
  const std::lock_guard lock(mutex_);
  return queuedBytes() > limits_.bytes;
}

std::optional<ByteQueue::Block> Outbox::take() {
  std::optional<ByteQueue::Block> block;
  {
    const std::lock_guard lock(mutex_);
    block = queue_.take();
    if (!block) return block;
    writingBytes_ = block->bytes.size();
    writingFrames_ = block->frames;
  }
  // In the order in which they are written, which the receiver's count follows.
  if (block->proven) sealRecord(block->bytes, *proof_);
  return block;
}

void Outbox::written(ByteQueue::Block block, size_t bytes) {
  counters_->framesOut.fetch_add(static_cast<int64_t>(block.frames), std::memory_order_relaxed);
  counters_->bytesOut.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  Waiter reader;
  {
    const std::lock_guard lock(mutex_);
    writingBytes_ = writingFrames_ = 0;
    queue_.recycle(std::move(block));
    if (queuedBytes() <= limits_.bytes / 2) reader = takeWaiter(reader_);
  }
  wake(std::move(reader));
}

}  // namespace troupe::link
