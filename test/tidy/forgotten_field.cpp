// Compiled as it is, and with each fault, by tests that `test/CMakeLists.txt` names: a description is complete or
// refused.
#include <string>

#include "messaging/description/message.hpp"

namespace troupe {

struct Nothing {};
struct Offer {
  std::string lease;
  int term = 0;
};

}  // namespace troupe

TROUPE_MESSAGE(troupe::Nothing)
#if defined(FORGETS_ONE)
TROUPE_MESSAGE(troupe::Offer, lease)
#elif defined(FORGETS_ALL)
TROUPE_MESSAGE(troupe::Offer)
#else
TROUPE_MESSAGE(troupe::Offer, lease, term)
#endif
