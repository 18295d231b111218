#pragma once
#include "messaging/errors/status.hpp"

/// `TROUPE_TRY` and `TROUPE_ASSIGN` for coroutines that return a Status or a StatusWith. The expression may contain a
/// `co_await`. It is evaluated once, in a statement of its own: no temporary of it lives on to the `co_return`. The
/// rules for g++ 12 (docs/contributors/coroutines.md) hold inside the parentheses too; the tidy test looks there.

/// Ends the enclosing coroutine with the failure of the expression, a Status.
#define TROUPE_CO_TRY(...)                              \
  do {                                                  \
    const ::troupe::Status troupeStatus_ = __VA_ARGS__; \
    if (!troupeStatus_.isOK()) co_return troupeStatus_; \
  } while (false)

#define TROUPE_CO_ASSIGN_(slot, target, ...) \
  auto slot = __VA_ARGS__;                   \
  if (!slot.isOK()) co_return slot.status(); \
  target = std::move(slot).value()
/// `TROUPE_CO_ASSIGN(const auto ns, request.target());` names the value of a StatusWith, or ends the enclosing
/// coroutine with its failure. The value stays in the frame where it was made, and the target gets it moved: for what
/// cannot be moved, test `isOK()` by hand.
#define TROUPE_CO_ASSIGN(target, ...) TROUPE_CO_ASSIGN_(TROUPE_JOIN(troupeWith_, __LINE__), target, __VA_ARGS__)
