#pragma once
#include <memory>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/post_office.hpp"
#include "actors/kernel/registry.hpp"

namespace troupe {

/// Sends an ask and returns its answer to come. With a timeout, a timer of the environment completes it with
/// ExceededTimeLimit. `row` counts the pending ask; null for askers that are no actors.
Future<Answer> sendAsk(PostOffice& office, Environment& environment, Envelope envelope, Duration timeout,
                       std::shared_ptr<LiveRow> row);

/// A future that completes at a time; dropping the future cancels the timer.
Future<Done> sleepUntil(Environment& environment, TimePoint when);

}  // namespace troupe
