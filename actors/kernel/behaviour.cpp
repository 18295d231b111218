#include "actors/kernel/behaviour.hpp"

namespace troupe {

void Behaviour::add(Handler handler) {
  for (auto& existing : handlers_)
    if (existing.type == handler.type) {
      existing = std::move(handler);
      return;
    }
  handlers_.push_back(std::move(handler));
}

}  // namespace troupe
