#pragma once
#include <functional>
#include <string_view>

#include "messaging/client/connection.hpp"
#include "supervisors/cli/terminal.hpp"

namespace troupe::demo {

inline constexpr std::string_view kDemoDatabase = "demo";

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
