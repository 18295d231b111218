#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "actors/kernel/node.hpp"
#include "actors/kernel/registry.hpp"
#include "state_machines/core/diagram.hpp"

namespace troupe::supervisors {

using Json = nlohmann::ordered_json;

/// "2024-01-01T00:00:00.000Z".
std::string isoTime(WallTime time);
/// A row as an object; fields in the order and with the names operators know, times as ISO 8601.
Json toJson(const ActorRow& row);
/// Rows nested by path: each row with its last name as `name` and `children`, in the order given. A row whose ancestors
/// are not among the rows hangs below the nearest one that is.
Json toTree(const std::vector<ActorRow>& rows);
/// Row, state document, machine (null if it carries out none), and recent messages, newest first. `specification` is
/// the child's entry in its supervisor's state document.
Json toJson(const ActorDetails& details, const bson::Document& specification);
/// Phases and table of a machine: a transition's `from` is null for any phase; null among `to` is the end, an empty
/// `to` stays where it is.
Json toJson(const machines::MachineOutline& machine);
/// A step of a machine; `cause`, `from`, `to` and `outcome` are null where there is none.
Json toJson(const TransitionRecord& record);
/// A document as relaxed Extended JSON.
Json toJson(bson::View document);

// What commands answer, for other members' actors, in the forms above. Members that could not be asked have rows
// {node, path, unreachable}.
/// A row of `actorTree`.
Json rowJson(bson::View row);
/// A row of `transitionLog` with `members`: also with `node`.
Json stepJson(bson::View row);
/// A reply of `actorDetails`; `specification` as for `toJson`.
Json detailsJson(bson::View reply, const bson::Document& specification);

/// Compact text; bytes that are no UTF-8 are replaced.
std::string dump(const Json& json);

/// Whether rows have a field of that name to sort by.
bool isRowField(std::string_view name);

}  // namespace troupe::supervisors
