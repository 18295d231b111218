#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "messaging/bson/document.hpp"
#include "supervisors/cli/terminal.hpp"

namespace troupe::supervisors {

/// Seconds that a member's newest operation is behind the primary's, by the reply to replSetGetStatus; nothing where
/// either is not known, and for the primary itself.
std::optional<double> lagOf(bson::View status, bson::View member);

/// "0 s", "4.0 s": members tell their times in whole seconds.
std::string formatLag(double seconds);

/// The reply to replSetGetStatus for people: the set, its term and primary, and a table of its members with their
/// roles.
std::string renderReplicaSet(bson::View status, size_t width, const Paint& paint);

}  // namespace troupe::supervisors
