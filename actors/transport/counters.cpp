#include "actors/transport/counters.hpp"

namespace troupe::link {

void LinkCounters::describe(bson::Builder& out) const {
  out.append("framesIn", framesIn.load()).append("framesOut", framesOut.load());
  out.append("bytesIn", bytesIn.load()).append("bytesOut", bytesOut.load());
  out.append("opened", opened.load()).append("lost", lost.load());
  out.append("dropped", dropped.load()).append("failedAsks", failedAsks.load());
  if (timesRefused.load() > 0) out.append("timesRefused", timesRefused.load());
  out.append("roundTripMicros", roundTripMicros.load()).append("lastError", lastError());
  out.openDocument("rejected");
  for (size_t i = 0; i < kRejections; ++i) {
    const auto reason = static_cast<Rejection>(i);
    if (count(reason) > 0) out.append(rejectionName(reason), count(reason));
  }
  out.close();
}

}  // namespace troupe::link
