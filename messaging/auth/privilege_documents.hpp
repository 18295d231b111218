#pragma once
#include <optional>
#include <string>

#include "messaging/auth/roles.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::auth {

// Privileges and names of roles as documents: as commands name them, and as admin.system.users and admin.system.roles
// keep them.

/// {resource: {db, collection} | {cluster: true} | {anyResource: true}, actions: [...]}. The action "anyAction" stands
/// for all. Errors: TypeMismatch, FailedToParse (fields that are missing or unknown), BadValue (actions that are
/// unknown, or none at all; names longer than those of collections).
StatusWith<Privilege> parsePrivilege(const bson::Element& given);
/// The same of a stored document. Actions that this server does not know, as other versions have them, grant nothing;
/// nothing is given for what is no privilege.
std::optional<Privilege> storedPrivilege(const bson::Element& stored);
bson::Document toDocument(const Privilege& privilege);

/// {role, db}; a missing field is empty.
RoleName roleNameOf(bson::View named);
bson::Document toDocument(const RoleName& role);
/// "role@db"
std::string toString(const RoleName& role);

}  // namespace troupe::auth
