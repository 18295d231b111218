#pragma once
#include <string>

#include "test/checkers/comparison.hpp"
#include "test/simulation/driver.hpp"

namespace troupe::sim {

/// What an audit of one member of a set found.
struct MemberFindings {
  /// Empty: in each collection of the database test the count, validate, and a scan by each index agree with the
  /// documents.
  std::string broken;
  /// All documents of the database test by namespace; and under `kCatalog` a document for each collection and view:
  /// its type, options, UUID and indexes.
  checkers::Contents holds;
  static constexpr const char* kCatalog = "the catalog of test";
};

/// Over the wire, from the one server that the driver knows, also while it is a secondary. Its fast counts
/// have to be right before validate mends them. Errors: of commands that were not answered; Interrupted when documents
/// changed meanwhile.
Task<StatusWith<MemberFindings>> auditMember(Driver& driver);

}  // namespace troupe::sim
