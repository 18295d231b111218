// Two documents in a row. The second is applied to the first as a delta, which must survive any bytes; and it is the
// first one's next version, to which their own delta must lead, byte for byte, also when it is applied once more.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "messaging/bson/validate.hpp"
#include "storage/oplog/document_delta.hpp"

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto first = bson::validate(bytes);
  if (!first.isOK()) return 0;
  const std::string_view rest = bytes.substr(*first);
  if (!bson::validate(rest).isOK()) return 0;
  const bson::View before(bytes.data()), after(rest.data());

  const auto patched = storage::applyDelta(before, after);
  if (patched.isOK()) {
    if (!bson::validate(patched->bytes()).isOK()) std::abort();
    const auto again = storage::applyDelta(*patched, after);
    if (!again.isOK() || !(again->view() == patched->view())) std::abort();
  }
  if (const auto delta = storage::delta(before, after)) {
    const auto once = storage::applyDelta(before, *delta);
    if (!once.isOK() || !(once->view() == after)) std::abort();
    const auto twice = storage::applyDelta(after, *delta);
    if (!twice.isOK() || !(twice->view() == after)) std::abort();
  }
  return 0;
}
