#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/client/connection.hpp"
#include "supervisors/cli/terminal.hpp"

namespace troupe::supervisors {

/// The rows of the live actor tree as the server gives them (`actorTree`); `ofAll`: of all members of its set.
StatusWith<std::vector<bson::Document>> readActorRows(client::Connection& connection, bool ofAll = false);
/// Rows of several members as one tree: each member's name in place of its "/node". A member that could not be asked is
/// a row of its own, in the phase "unreachable" and with the reason as its last error.
std::vector<bson::Document> treeOfMembers(const std::vector<bson::Document>& rows);
/// All rows of the cursor that a command on `admin` answers with.
StatusWith<std::vector<bson::Document>> readRows(client::Connection& connection, bson::View command);

/// Which row order `troupe top` shows. Unknown names are refused by the command line.
std::vector<bson::Document> sortedActors(std::vector<bson::Document> rows, std::string_view by);

/// The tree, drawn with box characters: each actor below its parent with its phase, traffic and what is unusual about
/// it (restarts, waiting messages, the last error). Rows whose parent is missing become roots. `root`: only that
/// subtree.
std::string renderActorTree(const std::vector<bson::Document>& rows, size_t width, const Paint& paint,
                            std::string_view root = {});

/// One line that sums the rows up: "31 actors: 29 running, 1 restarting, 1 parked".
std::string summarizeActors(const std::vector<bson::Document>& rows);

/// The row of a path; a path without its first part, or only the last part when that is unique, is enough. Null when
/// there is none or more than one.
const bson::Document* findActor(const std::vector<bson::Document>& rows, std::string_view path);

/// Says that `findActor` found nothing; gives `kExitFailed`.
int complainOfNoActor(std::string_view path);

/// An actor and all that are below it; every row where `root` is empty.
std::vector<bson::Document> actorsBelow(const std::vector<bson::Document>& rows, std::string_view root);

/// A value of a row for people: counts with separators, dates as time passed since `nowMillis`, arrays and documents as
/// JSON.
std::string describeField(const bson::Element& field, int64_t nowMillis);

}  // namespace troupe::supervisors
