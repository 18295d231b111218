#include <functional>

#include "storage/engine/wiredtiger_session.hpp"

namespace troupe::storage {
namespace {

bool within(std::string_view bytes, std::string_view whole) {
  const std::less<const char*> before;
  return !bytes.empty() && !before(bytes.data(), whole.data()) && before(bytes.data(), whole.data() + whole.size());
}

}  // namespace

bool WiredTigerCursor::positioned() const { return positionedIn_ == session_.epoch(); }

void WiredTigerCursor::setKey(std::string_view key) {
  WT_ITEM item{};
  item.data = key.data();
  item.size = key.size();
  cursor_->set_key(cursor_, &item);
}

void WiredTigerCursor::setValue(std::string_view value) {
  WT_ITEM item{};
  item.data = value.data();
  item.size = value.size();
  cursor_->set_value(cursor_, &item);
}

// Keys and values are bytes (format u): the cursor's own items are what get_key and get_value would copy out, at the
// price of a twentieth of a small write.
std::string_view WiredTigerCursor::key() const {
  if (!positioned() || !(cursor_->flags & WT_CURSTD_KEY_SET)) return {};
  return {static_cast<const char*>(cursor_->key.data), cursor_->key.size};
}

std::string_view WiredTigerCursor::value() const {
  if (!positioned() || !(cursor_->flags & WT_CURSTD_VALUE_SET)) return {};
  return {static_cast<const char*>(cursor_->value.data), cursor_->value.size};
}

/// Bytes that point into the row the cursor stands on are copied: moving away lets go of the row's page.
std::string_view WiredTigerCursor::detach(std::string_view bytes, std::string& scratch) const {
  if (!positioned() || (!within(bytes, key()) && !within(bytes, value()))) return bytes;
  scratch.assign(bytes);
  return scratch;
}

bool WiredTigerCursor::standsOn(std::string_view bytes) const { return positioned() && key() == bytes; }

/// Before all keys.
StatusWith<bool> WiredTigerCursor::nowhere() {
  reset();
  return false;
}

StatusWith<bool> WiredTigerCursor::landed(int code) {
  if (code == 0) [[likely]] {
    positionedIn_ = session_.epoch();
    return true;
  }
  positionedIn_ = 0;
  if (code == WT_NOTFOUND) return false;
  Status status = session_.failure(code, "read");
  (void)cursor_->reset(cursor_);
  return status;
}

/// WiredTiger would force a prepared transaction to roll back.
Status WiredTigerCursor::readable() const {
  if (!session_.prepared()) [[likely]]
    return {};
  return {ErrorCode::kIllegalOperation, "a prepared transaction can only be decided"};
}

StatusWith<bool> WiredTigerCursor::seek(std::string_view key) {
  TROUPE_TRY(readable());
  if (key.empty()) [[unlikely]]
    return nowhere();
  setKey(detach(key, keyScratch_));
  return landed(cursor_->search(cursor_));
}

StatusWith<bool> WiredTigerCursor::near(std::string_view key, bool after) {
  TROUPE_TRY(readable());
  if (key.empty()) [[unlikely]] {
    reset();
    return after ? next() : nowhere();
  }
  setKey(detach(key, keyScratch_));
  int exact = 0;
  int code = cursor_->search_near(cursor_, &exact);
  if (code == 0 && after && exact < 0) code = cursor_->next(cursor_);
  if (code == 0 && !after && exact > 0) code = cursor_->prev(cursor_);
  return landed(code);
}

StatusWith<bool> WiredTigerCursor::seekAtOrAfter(std::string_view key) { return near(key, true); }
StatusWith<bool> WiredTigerCursor::seekAtOrBefore(std::string_view key) { return near(key, false); }
StatusWith<bool> WiredTigerCursor::next() {
  TROUPE_TRY(readable());
  if (!positioned()) (void)cursor_->reset(cursor_);
  return landed(cursor_->next(cursor_));
}
StatusWith<bool> WiredTigerCursor::previous() {
  TROUPE_TRY(readable());
  if (!positioned()) (void)cursor_->reset(cursor_);
  return landed(cursor_->prev(cursor_));
}

Status WiredTigerCursor::writable() const {
  if (session_.inTransaction() && !session_.prepared()) [[likely]]
    return {};
  return {ErrorCode::kIllegalOperation, "writes need an open, unprepared transaction"};
}

Status WiredTigerCursor::wrote(int code, size_t bytes) {
  if (code == 0) [[likely]] {
    session_.countBytes(bytes);
    return {};
  }
  positionedIn_ = 0;
  Status status = session_.failure(code, "write");
  (void)cursor_->reset(cursor_);
  return status;
}

Status WiredTigerCursor::insert(std::string_view key, std::string_view value) {
  TROUPE_TRY(writable());
  value = detach(value, valueScratch_);
  setKey(detach(key, keyScratch_));
  setValue(value);
  positionedIn_ = 0;
  return wrote(cursor_->insert(cursor_), key.size() + value.size());
}

Status WiredTigerCursor::put(std::string_view key, std::string_view value) {
  TROUPE_TRY(writable());
  value = detach(value, valueScratch_);
  setKey(detach(key, keyScratch_));
  setValue(value);
  positionedIn_ = 0;
  // Cheaper than a second cursor or WT_CURSOR::reconfigure; WiredTiger's own reconfigure does just this.
  cursor_->flags |= WT_CURSTD_OVERWRITE;
  const int code = cursor_->insert(cursor_);
  cursor_->flags &= ~static_cast<uint32_t>(WT_CURSTD_OVERWRITE);
  return wrote(code, key.size() + value.size());
}

Status WiredTigerCursor::update(std::string_view key, std::string_view value) {
  TROUPE_TRY(writable());
  value = detach(value, valueScratch_);
  const bool here = standsOn(key);
  if (!here) setKey(detach(key, keyScratch_));
  setValue(value);
  const int code = cursor_->update(cursor_);
  if (!here) {
    positionedIn_ = 0;
    if (code == 0) (void)cursor_->reset(cursor_);
  }
  return wrote(code, key.size() + value.size());
}

Status WiredTigerCursor::remove(std::string_view key) {
  TROUPE_TRY(writable());
  const bool here = standsOn(key);
  if (!here) {
    setKey(detach(key, keyScratch_));
    positionedIn_ = 0;
  }
  return wrote(cursor_->remove(cursor_), key.size());
}

void WiredTigerCursor::reset() {
  positionedIn_ = 0;
  (void)cursor_->reset(cursor_);
}

}  // namespace troupe::storage
