#include "storage/operation/concern_defaults.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::storage {

namespace {

/// Empty text: the field is not given.
StatusWith<ConcernDefaults> changed(const ConcernDefaults& from, const char* read, const char* write) {
  const bson::Document r = *bson::fromJson(*read ? read : "{}"), w = *bson::fromJson(*write ? write : "{}");
  const bson::View readView = r, writeView = w;
  return from.with(*read ? &readView : nullptr, *write ? &writeView : nullptr);
}

ConcernDefaults set(const char* read, const char* write) { return changed({}, read, write).value(); }

}  // namespace

TEST(ConcernDefaults, OneOfTheTwoIsLeftAsItIs) {
  const ConcernDefaults both = set(R"({"level": "majority"})", R"({"w": 2, "j": true, "wtimeout": 9})");
  EXPECT_EQ(both.read, ReadConcernLevel::kMajority);
  EXPECT_EQ(both.write->w, 2);
  const auto read = changed(both, R"({"level": "available"})", "");
  EXPECT_EQ(read->read, ReadConcernLevel::kAvailable);
  EXPECT_EQ(read->write->w, 2);
  const auto write = changed(both, "", R"({"w": "majority"})");
  EXPECT_EQ(write->read, ReadConcernLevel::kMajority);
  EXPECT_TRUE(write->write->majority);
  EXPECT_FALSE(write->write->journaled) << "a write concern is replaced as a whole";
}

TEST(ConcernDefaults, AnEmptyReadConcernUnsetsIt) {
  const ConcernDefaults both = set(R"({"level": "majority"})", R"({"w": 1})");
  EXPECT_FALSE(changed(both, "{}", "")->read);
  EXPECT_EQ(changed(both, "", "{}").status(), ErrorCode::kIllegalOperation) << "a write concern can only be replaced";
  EXPECT_FALSE(changed({}, "", "{}")->write) << "there was none";
}

TEST(ConcernDefaults, WhatIsNotSuitableIsRefused) {
  EXPECT_EQ(changed({}, "", "").status(), ErrorCode::kBadValue);
  for (const char* level : {R"({"level": "linearizable"})", R"({"level": "snapshot"})", R"({"level": "nonsense"})",
                            R"({"level": null})", R"({"provenance": "customDefault"})",
                            R"({"level": "local", "afterClusterTime": {"$timestamp": {"t": 1, "i": 1}}})"})
    EXPECT_EQ(changed({}, level, "").status(), ErrorCode::kBadValue) << level;
  for (const char* write : {R"({"w": 0})", R"({"j": true})", R"({"wtimeout": 5000})", R"({"w": null})"})
    EXPECT_EQ(changed({}, "", write).status(), ErrorCode::kBadValue) << write;
  EXPECT_EQ(changed({}, "", R"({"w": 51})").status(), ErrorCode::kFailedToParse);
  EXPECT_EQ(changed({}, R"({"x": 1})", "").status(), ErrorCode::kUnknownField);
}

TEST(ConcernDefaults, AreKeptAsADocument) {
  ConcernDefaults defaults = set(R"({"level": "majority"})", R"({"w": "majority", "wtimeout": 9})");
  defaults.updateOpTime = {7, 2};
  defaults.updateWallClockTime = {1234};
  const bson::Document stored = defaults.toDocument();
  EXPECT_EQ(bson::toRelaxedJson(stored),
            bson::toRelaxedJson(
                *bson::fromJson(R"({"_id": "ReadWriteConcernDefaults", "defaultReadConcern": {"level": "majority"},
      "defaultWriteConcern": {"w": "majority", "wtimeout": 9},
      "updateOpTime": {"$timestamp": {"t": 7, "i": 2}}, "updateWallClockTime": {"$date": "1970-01-01T00:00:01.234Z"}})")));
  const ConcernDefaults read = ConcernDefaults::of(stored);
  EXPECT_EQ(bson::toRelaxedJson(read.toDocument()), bson::toRelaxedJson(stored));
  EXPECT_EQ(read.write->timeout, std::chrono::milliseconds(9));
  EXPECT_EQ(read.write->provenance, Provenance::kCustomDefault);
}

TEST(ConcernDefaults, WhatCouldNotBeSetCountsAsNotSet) {
  const auto odd = ConcernDefaults::of(*bson::fromJson(
      R"({"defaultReadConcern": {"level": "snapshot"}, "defaultWriteConcern": {"w": 0}, "updateOpTime": 1})"));
  EXPECT_FALSE(odd.read || odd.write);
  EXPECT_EQ(odd.updateOpTime, bson::Timestamp{});
  EXPECT_FALSE(ConcernDefaults::of(bson::View()).read);
}

}  // namespace troupe::storage
