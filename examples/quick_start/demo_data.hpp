#pragma once
#include <functional>
#include <string_view>

#include "messaging/client/connection.hpp"
#include "supervisors/cli/terminal.hpp"

namespace troupe::demo {

inline constexpr std::string_view kDemoDatabase = "demo";

/// A headline of the demonstration.
void title(const supervisors::Paint& paint, std::string_view text);

/// Loads the data and builds the indexes, with headlines, unless an earlier run has. Errors as those of the parts
/// below.
Status prepareDemoData(client::Connection& connection, const supervisors::Paint& paint,
                       const std::function<bool()>& goOn);

/// How many documents a collection of the demonstration has; 0 as well if it cannot be asked.
int64_t countDocuments(client::Connection& connection, std::string_view collection);

/// Whether an earlier run has loaded everything.
bool demoDataIsComplete(client::Connection& connection);

/// Loads this machine's packages and the ISO code lists into the database `demo`, with progress, in place of what a
/// broken-off load has left. `goOn` is asked now and then. Errors: those of the server, Interrupted, FileNotOpen when
/// the machine has no package index. Missing ISO lists are only mentioned.
Status loadDemoData(client::Connection& connection, const std::function<bool()>& goOn);

/// Builds the indexes that are not there yet and prints what each took.
Status buildDemoIndexes(client::Connection& connection, const supervisors::Paint& paint);

/// Remembers that all is loaded, journaled.
Status markDemoDataComplete(client::Connection& connection);

}  // namespace troupe::demo
