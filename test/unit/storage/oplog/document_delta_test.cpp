#include "storage/oplog/document_delta.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "messaging/bson/json.hpp"
#include "messaging/bson/validate.hpp"
#include "storage/oplog/document_difference.hpp"
#include "test/unit/storage/oplog/random_documents.hpp"

namespace troupe::storage {
namespace {

using namespace bson;

/// A document that is so large that a delta is always smaller: `fields` follow a filling.
Document large(const char* fields) {
  Builder builder;
  builder.append("_id", 1).append("filling", std::string(500, 'x'));
  return builder.appendAll(fromJson(fields)->view()).finish();
}

/// The difference of two documents, as text; checks what it gives.
std::string diff(const char* before, const char* after) {
  const Document old = large(before), now = large(after);
  const auto change = delta(old, now);
  if (!change) return "a replacement";
  EXPECT_EQ(applyDelta(old, *change)->view(), now.view()) << toRelaxedJson(*change);
  EXPECT_EQ(applyDelta(now, *change)->view(), now.view()) << "twice: " << toRelaxedJson(*change);
  return toRelaxedJson((*change)["diff"].asDocument());
}

Status applying(const char* difference) {
  const Document change = doc("$v", 2, "diff", *fromJson(difference));
  return applyDelta(large(R"({"a": 1, "list": [1, 2, {"x": 1}], "sub": {"x": 1}})"), change).status();
}

// OPL-005
TEST(DocumentDelta, NamesResultingValues) {
  EXPECT_EQ(diff(R"({"a": 1})", R"({"a": 2})"), R"({ "u" : { "a" : 2 } })");
  EXPECT_EQ(diff(R"({"a": 1})", R"({})"), R"({ "d" : { "a" : false } })");
  EXPECT_EQ(diff(R"({})", R"({"a": 1})"), R"({ "i" : { "a" : 1 } })");
  EXPECT_EQ(diff(R"({"a": 1, "b": 1, "c": 1})", R"({"b": "x", "c": 1, "d": null})"),
            R"({ "d" : { "a" : false }, "u" : { "b" : "x" }, "i" : { "d" : null } })");
  EXPECT_EQ(diff(R"({"a": 1})", R"({"a": 1.0})"), R"({ "u" : { "a" : 1.0 } })") << "another type is another value";
  EXPECT_EQ(diff(R"({"a": 1})", R"({"a": 1})"), "{ }");
}

TEST(DocumentDelta, FollowsNestedDocuments) {
  EXPECT_EQ(diff(R"({"s": {"long": "0123456789", "n": {"x": 1, "long": "0123456789"}}})",
                 R"({"s": {"long": "0123456789", "n": {"x": 2, "long": "0123456789"}}})"),
            R"({ "ss" : { "sn" : { "u" : { "x" : 2 } } } })");
  EXPECT_EQ(diff(R"({"n": {"x": 1}})", R"({"n": {"x": 2}})"), R"({ "u" : { "n" : { "x" : 2 } } })")
      << "a whole value that is smaller than its difference";
  EXPECT_EQ(diff(R"({"n": {"x": 1}})", R"({"n": [1]})"), R"({ "u" : { "n" : [ 1 ] } })");
}

TEST(DocumentDelta, FollowsArrays) {
  EXPECT_EQ(diff(R"({"n": ["0123456789", 1, 2]})", R"({"n": ["0123456789", 1, 3]})"),
            R"({ "sn" : { "a" : true, "u2" : 3 } })");
  EXPECT_EQ(diff(R"({"n": ["0123456789", 1, 2, 3]})", R"({"n": ["0123456789", 7]})"),
            R"({ "sn" : { "a" : true, "l" : 2, "u1" : 7 } })");
  EXPECT_EQ(diff(R"({"n": ["0123456789"]})", R"({"n": ["0123456789", 5, 6]})"),
            R"({ "sn" : { "a" : true, "u1" : 5, "u2" : 6 } })");
  EXPECT_EQ(diff(R"({"n": [0, {"long": "0123456789", "x": 1}, ["0123456789", 1]]})",
                 R"({"n": [0, {"long": "0123456789", "x": 2}, ["0123456789"]]})"),
            R"({ "sn" : { "a" : true, "s1" : { "u" : { "x" : 2 } }, "s2" : { "a" : true, "l" : 1 } } })");
}

TEST(DocumentDelta, KeepsTheOrderOfFields) {
  EXPECT_EQ(diff(R"({"a": 1, "b": 2, "c": 3})", R"({"b": 2, "c": 3, "a": 1})"), R"({ "i" : { "a" : 1 } })");
  EXPECT_EQ(diff(R"({"a": 1, "b": 2})", R"({"x": 1, "a": 1, "b": 2})"), R"({ "i" : { "x" : 1, "a" : 1, "b" : 2 } })");
  EXPECT_EQ(diff(R"({"a": 1, "b": 2, "c": 3})", R"({"c": 3, "b": 2, "x": 1, "a": 0})"),
            R"({ "i" : { "b" : 2, "x" : 1, "a" : 0 } })");
}

TEST(DocumentDelta, IsNothingWhereAReplacementIsNotLarger) {
  EXPECT_FALSE(delta(doc("_id", 1, "a", 1), doc("_id", 1, "a", 2)));
  EXPECT_FALSE(delta(large(R"({"a": 1})"), doc("_id", 1)));
}

TEST(DocumentDelta, IsNothingWhereItCannotTellTheFieldsApart) {
  EXPECT_EQ(diff(R"({"a": 1, "b": 1, "a": 2})", R"({"a": 1, "b": 1, "a": 3})"), "a replacement");
  EXPECT_EQ(diff(R"({"b": 1})", R"({"b": 1, "a": 1, "a": 3})"), "a replacement");
  EXPECT_EQ(diff(R"({"a": 1, "a": 1, "b": 1})", R"({"a": 1, "a": 1, "b": 2})"), R"({ "u" : { "b" : 2 } })");
}

TEST(DocumentDelta, AppliesToALaterDocument) {
  const auto apply = [](const char* document, const char* difference) {
    const auto result = applyDelta(*fromJson(document), doc("$v", 2, "diff", *fromJson(difference)));
    return result.isOK() ? toRelaxedJson(*result) : result.status().toString();
  };
  EXPECT_EQ(apply(R"({"b": 1})", R"({"u": {"a": 2}, "i": {"b": 3}})"), R"({ "a" : 2, "b" : 3 })");
  EXPECT_EQ(apply(R"({"b": 1})", R"({"d": {"a": false}, "sx": {"u": {"y": 1}}})"), R"({ "b" : 1 })");
  EXPECT_EQ(apply(R"({"x": [1]})", R"({"sx": {"u": {"y": 1}}})"), R"({ "x" : [ 1 ] })");
  EXPECT_EQ(apply(R"({"x": {"y": 0}})", R"({"sx": {"a": true, "l": 3}})"), R"({ "x" : { "y" : 0 } })");
  EXPECT_EQ(apply(R"({"x": [1]})", R"({"sx": {"a": true, "l": 9, "s2": {"u": {"y": 1}}, "u3": 7}})"),
            R"({ "x" : [ 1, null, null, 7 ] })");
}

TEST(DocumentDelta, MalformedDeltasAreErrors) {
  for (const char* bad : {R"({"x": {}})",
                          R"({"u": 1})",
                          R"({"u": {}, "u": {}})",
                          R"({"d": {"a": true}})",
                          R"({"d": {"a": 1}})",
                          R"({"u": {"a": 1}, "i": {"a": 1}})",
                          R"({"u": {"a": 1}, "sa": {}})",
                          R"({"ssub": {}, "ssub": {}})",
                          R"({"ssub": 3})",
                          R"({"ssub": {"u": {"x": 1}, "q": {}}})",
                          R"({"slist": {"a": false}})",
                          R"({"slist": {"a": true, "a": true}, "u": {}, "x": {}})",
                          R"({"slist": {"a": true, "u": 1}})",
                          R"({"slist": {"a": true, "u01": 1}})",
                          R"({"slist": {"a": true, "u-1": 1}})",
                          R"({"slist": {"a": true, "u1": 1, "u1": 2}})",
                          R"({"slist": {"a": true, "u2": 1, "s1": {}}})",
                          R"({"slist": {"a": true, "s1": 2}})",
                          R"({"slist": {"a": true, "l": -1}})",
                          R"({"slist": {"a": true, "l": 1.5}})",
                          R"({"slist": {"a": true, "u0": 1, "l": 1}})",
                          R"({"slist": {"a": true, "u99999999999": 1}})",
                          R"({"slist": {"a": true, "x0": 1}})",
                          R"({"a": true, "u0": 1})"}) {
    EXPECT_EQ(applying(bad), ErrorCode::kFailedToParse) << bad << ": " << applying(bad).toString();
  }
  EXPECT_TRUE(applying("{}").isOK());
  const Document document = doc("_id", 1);
  for (const Document& bad : {doc(), doc("$v", 1, "diff", doc()), doc("$v", 2), doc("$v", 2, "diff", 1),
                              doc("$v", 2, "diff", doc(), "x", 1)}) {
    EXPECT_EQ(applyDelta(document, bad).status(), ErrorCode::kFailedToParse) << toRelaxedJson(bad);
  }
}

TEST(DocumentDelta, IsBounded) {
  EXPECT_EQ(applying(R"({"slist": {"a": true, "u4000000000": 1}})"), ErrorCode::kBSONObjectTooLarge);
  Builder deep;
  deep.append("$v", 2).openDocument("diff");
  for (int i = 0; i <= kMaxDifferenceDepth; ++i) deep.openDocument("sx");
  EXPECT_EQ(applyDelta(doc("x", 1), deep.finish()).status(), ErrorCode::kOverflow);
}

// What it was written for lacked a field that the later document has.
TEST(DocumentDelta, AReplayMayPassTheLimitOfADocumentInBetween) {
  const std::string half(10 << 20, 'x'), kept(1000, 'k');
  const Document none = doc("_id", 1, "kept", kept);
  const Document first = doc("_id", 1, "kept", kept, "a", half), last = doc("_id", 1, "kept", kept, "b", half);
  Document replayed = last;
  for (const auto& [before, after] : {std::pair{none, first}, {first, none}, {none, last}}) {
    const auto change = delta(before, after);
    ASSERT_TRUE(change);
    auto applied = applyDelta(replayed, *change, kMaxReplayedSize);
    ASSERT_TRUE(applied.isOK()) << applied.status().toString();
    replayed = std::move(*applied);
  }
  EXPECT_TRUE(replayed.view() == last.view());
  EXPECT_EQ(applyDelta(last, *delta(none, first)).status(), ErrorCode::kBSONObjectTooLarge);
  const Document gap = doc("$v", 2, "diff", *fromJson(R"({"slist": {"a": true, "u4000000000": 1}})"));
  EXPECT_EQ(applyDelta(*fromJson(R"({"list": [1]})"), gap, kMaxReplayedSize).status(), ErrorCode::kBSONObjectTooLarge);
}

TEST(DocumentDelta, FollowsTheDeepestDocuments) {
  const auto nested = [](int value) {
    Builder builder;
    for (int i = 0; i < kMaxNestingDepth - 1; ++i) builder.append("filling", std::string(8, 'x')).openDocument("n");
    return builder.append("v", value).finish();
  };
  const Document before = nested(1), after = nested(2);
  const auto change = delta(before, after);
  ASSERT_TRUE(change);
  EXPECT_TRUE(validate(change->bytes()).isOK());
  EXPECT_EQ(applyDelta(before, *change)->view(), after.view());
}

// A quadratic comparison of half a million fields would take minutes; the test's own limit of time would end it.
TEST(DocumentDelta, TakesLinearTimeOnWideDocuments) {
  Builder before, after;
  constexpr int kFields = 500'000;
  for (int i = 0; i < kFields; ++i) before.append(std::to_string(i), std::string(16, 'x'));
  for (int i = 1; i < kFields; ++i) after.append(std::to_string(i), i % 7 ? std::string(16, 'x') : "y");
  after.append("0", 0);
  const Document old = before.finish(), now = after.finish();
  const auto started = std::chrono::steady_clock::now();
  const auto change = delta(old, now);
  ASSERT_TRUE(change);
  EXPECT_EQ(applyDelta(old, *change)->view(), now.view());
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(30));
}

TEST(DocumentDelta, GivesTheDocumentItWasMadeForFromWhateverPairs) {
  RandomDocuments random(20261122);
  int deltas = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Document before = random.document();
    const Document after = random.changed(before);
    const auto change = delta(before, after);
    if (!change) continue;
    ++deltas;
    ASSERT_TRUE(validate(change->bytes()).isOK());
    ASSERT_TRUE(isDelta(*change));
    ASSERT_LT(change->view().size(), after.view().size());
    const auto once = applyDelta(before, *change);
    ASSERT_TRUE(once.isOK()) << once.status().toString();
    ASSERT_EQ(once->view(), after.view()) << toRelaxedJson(before) << "\n" << toRelaxedJson(*change);
    ASSERT_EQ(applyDelta(after, *change)->view(), after.view()) << toRelaxedJson(*change);
  }
  EXPECT_GT(deltas, 10'000) << "the pairs must not fall back to replacements";
}

TEST(DocumentDelta, SaysHowLargeItIsEncoded) {
  RandomDocuments random(7);
  for (int i = 0; i < 2'000; ++i) {
    const Document before = random.document();
    const Document after = random.changed(before);
    const DocumentDifference difference = differenceOf(before, after);
    Builder builder;
    encode(difference, builder);
    ASSERT_EQ(builder.finish().view().size(), difference.encodedSize) << toRelaxedJson(before);
  }
}

// As in recovery: the whole log from some time on is applied to a document that has some of it already.
TEST(DocumentDelta, AReplayOfTheWholeLogEndsAtTheLastDocumentWhereverItBegins) {
  RandomDocuments random(42);
  for (int round = 0; round < 1'000; ++round) {
    std::vector<Document> history{random.document()};
    std::vector<Document> log;  // entry i leads to version i + 1
    for (int i = 0; i < 12; ++i) {
      history.push_back(random.changed(history.back()));
      const auto change = delta(history[i], history[i + 1]);
      log.push_back(change ? *change : history[i + 1]);
    }
    for (const Document& start : history) {
      Document replayed = start;
      for (const Document& entry : log) {
        if (!isDelta(entry)) {
          replayed = entry;
          continue;
        }
        auto applied = applyDelta(replayed, entry);
        ASSERT_TRUE(applied.isOK()) << applied.status().toString();
        replayed = std::move(applied).value();
      }
      ASSERT_EQ(replayed.view(), history.back().view());
    }
  }
}

}  // namespace
}  // namespace troupe::storage
