#pragma once
#include "test/unit/storage/oplog/member_fixture.hpp"
#include "test/unit/storage/oplog/primary_fixture.hpp"

namespace troupe::storage {

/// A primary whose log is replayed over copies of its data.
class ReplayFixture : public PrimaryFixture {
 protected:
  Status replace(const char* ns, const bson::Document& before, const bson::Document& after) {
    return inUnit([&]() -> Status {
      TROUPE_ASSIGN(const auto at, current(ns)->findById(rec(), before["_id"]));
      return current(ns)->update(rec(), *at, before, after);
    });
  }
  /// From each entry on, over a copy of the last data.
  void expectThatReplaysEndTheSame() {
    const auto entries = log();
    const NodeContents wanted(*catalog, *pool);
    for (size_t from = 0; from < entries.size(); ++from) {
      Member member(ApplyMode::kReplaying);
      member.copy(*catalog, *pool);
      const Status applied = member.applyAll({entries.begin() + static_cast<ptrdiff_t>(from), entries.end()});
      ASSERT_TRUE(applied.isOK()) << "from " << from << ": " << applied.toString();
      EXPECT_EQ(member.contents(), wanted) << "from " << from;
    }
  }
};

}  // namespace troupe::storage
