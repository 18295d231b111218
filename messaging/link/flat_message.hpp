#pragma once
#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <string>
#include <string_view>

#include "messaging/envelope/payload.hpp"

namespace troupe::link {

/// The Cap'n Proto message that `fill(T::Builder)` writes, in flat form.
template <SchemaType T, class Fill>
std::string flatMessage(Fill&& fill) {
  capnp::MallocMessageBuilder message;
  fill(message.initRoot<T>());
  const auto words = capnp::messageToFlatArray(message);
  const auto bytes = words.asChars();
  return std::string(bytes.begin(), bytes.size());
}

/// Calls `look(T::Reader)` for a flat message that is aligned to words; false if it is damaged. The limits are sized
/// from the bytes.
template <SchemaType T, class Look>
bool readFlat(std::string_view bytes, Look&& look) {
  const size_t words = bytes.size() / sizeof(capnp::word);
  try {
    capnp::FlatArrayMessageReader reader(kj::arrayPtr(reinterpret_cast<const capnp::word*>(bytes.data()), words),
                                         {words * 2 + 64, 16});
    look(reader.getRoot<T>());
    return true;
  } catch (const kj::Exception&) {
    return false;
  }
}

}  // namespace troupe::link
