#include "messaging/description/fingerprint.hpp"

namespace troupe::machines {

void detail::appendStatus(std::string& out, const Status& status) {
  appendSigned(out, static_cast<int64_t>(status.code()));
  if (status.isOK()) return;
  appendSized(out, status.reason());
  out.push_back(status.extra() ? 1 : 0);
  if (status.extra()) out.append(status.extra()->bytes());
}

}  // namespace troupe::machines
