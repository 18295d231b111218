#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "messaging/auth/roles.hpp"

namespace troupe::auth {

/// One row of a built-in role: actions on resources. In `database` and `collection`, kOwn stands for the database the
/// role is held on, kOwnOrEach for the same, or for each database if that is `admin`; empty ones are those of
/// ResourcePattern.
struct BuiltinGrant {
  ResourcePattern::Kind kind;
  std::string_view database;
  std::string_view collection;
  ActionSet actions;
};
inline constexpr std::string_view kOwn = "$own";
inline constexpr std::string_view kOwnOrEach = "$ownOrEach";

/// A built-in role: what it grants itself, and the roles it contains.
struct BuiltinRole {
  std::string_view name;
  bool adminOnly;  ///< exists in the database admin alone
  std::vector<std::string_view> includes;
  std::vector<BuiltinGrant> grants;
};

/// The table of all built-in roles; the one place where they are defined.
std::span<const BuiltinRole> builtinRoles();

}  // namespace troupe::auth
