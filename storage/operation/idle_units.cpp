#include "storage/operation/idle_units.hpp"

#include <string>

#include "messaging/errors/invariant.hpp"

namespace troupe::storage {

namespace {

Status ended(ErrorCode why) {
  return {why, "the transaction was ended between two of its commands: " + std::string(errorName(why))};
}

bool isPrepared(const OpenUnit& unit) { return unit.unit->isPrepared(); }

}  // namespace

IdleUnits::Place& IdleUnits::Place::operator=(Place&& other) noexcept {
  if (this != &other) {
    leave();
    units_ = std::exchange(other.units_, nullptr);
    id_ = other.id_;
  }
  return *this;
}

void IdleUnits::Place::leave() {
  if (units_) (void)take();
}

StatusWith<OpenUnit> IdleUnits::Place::take() {
  IdleUnits& units = *std::exchange(units_, nullptr);
  const std::lock_guard lock(units.mutex_);
  auto slot = units.slots_.extract(id_);
  if (!slot.mapped().unit) return slot.mapped().ended;
  return std::move(*slot.mapped().unit);
}

IdleUnits::Place IdleUnits::add(OpenUnit unit, Status interrupted) {
  const std::lock_guard lock(mutex_);  // `unit`, a parameter, is destroyed after it is released
  Slot& slot = slots_[++lastId_];
  if (stopping_) slot.ended = interruption_;
  else if (!isPrepared(unit)) slot.ended = interruption_.isOK() ? std::move(interrupted) : interruption_;
  if (slot.ended.isOK()) slot.unit = std::move(unit);
  return {this, lastId_};
}

template <class Which>
std::vector<OpenUnit> IdleUnits::endIf(const Which& which, const Status& why) {
  std::vector<OpenUnit> out;
  for (auto& [id, slot] : slots_) {
    if (!slot.unit || !which(id, *slot.unit)) continue;
    out.push_back(std::move(*slot.unit));
    slot.unit.reset();
    slot.ended = why;
  }
  return out;
}

void IdleUnits::interrupt(ErrorCode why) {
  std::vector<OpenUnit> rolledBack;
  const std::lock_guard lock(mutex_);
  ++interruptions_;
  if (stopping_) return;
  interruption_ = ended(why);
  rolledBack = endIf([](uint64_t, const OpenUnit& unit) { return !isPrepared(unit); }, interruption_);
}

void IdleUnits::resume() {
  const std::lock_guard lock(mutex_);
  invariant(interruptions_ > 0, "only what was interrupted is resumed");
  if (--interruptions_ == 0 && !stopping_) interruption_ = Status::OK();
}

void IdleUnits::endAll(ErrorCode why) {
  std::vector<OpenUnit> rolledBack;
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  interruption_ = ended(why);
  rolledBack = endIf([](uint64_t, const OpenUnit&) { return true; }, interruption_);
}

size_t IdleUnits::endExpired(TimePoint now) {
  std::vector<OpenUnit> rolledBack;
  const std::lock_guard lock(mutex_);
  const auto isExpired = [now](uint64_t, const OpenUnit& unit) {
    return unit.end && now >= *unit.end && !isPrepared(unit);
  };
  rolledBack = endIf(isExpired, ended(ErrorCode::kTransactionExceededLifetimeLimitSeconds));
  return rolledBack.size();
}

bool IdleUnits::end(uint64_t id, ErrorCode why) {
  std::vector<OpenUnit> rolledBack;
  const std::lock_guard lock(mutex_);
  const auto isIt = [id](uint64_t each, const OpenUnit& unit) { return each == id && !isPrepared(unit); };
  rolledBack = endIf(isIt, ended(why));
  return !rolledBack.empty();
}

size_t IdleUnits::size() const {
  const std::lock_guard lock(mutex_);
  size_t held = 0;
  for (const auto& [id, slot] : slots_) held += slot.unit.has_value();
  return held;
}

}  // namespace troupe::storage
