#include "messaging/bson/validate.hpp"

#include <bson/bson.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>

#include "test/unit/messaging/bson/arbitrary.hpp"

namespace troupe::bson {
namespace {

/// Validates a copy in a heap block of exactly that size, so that a sanitizer sees any access outside.
StatusWith<int32_t> validateTight(std::string_view bytes, const ValidateOptions& options = {}) {
  const auto block = std::make_unique<char[]>(bytes.size());
  std::memcpy(block.get(), bytes.data(), bytes.size());
  return validate({block.get(), bytes.size()}, options);
}

/// Touches every byte that views and elements give access to.
size_t walk(View document, int depth = 0) {
  size_t sum = 0;
  for (const Element& e : document) {
    for (const char c : e.raw()) sum += static_cast<uint8_t>(c);
    if (e.isObjectLike()) sum += walk(e.asDocument(), depth + 1);
    if (e.is(Type::kCodeWithScope)) sum += e.codeWithScopeCode().size() + walk(e.codeWithScopeScope(), depth + 1);
    if (e.is(Type::kString)) sum += e.asString().size();
    if (e.is(Type::kBinary)) sum += e.asBinary().bytes.size();
    if (e.is(Type::kRegex)) sum += e.asRegex().options.size();
  }
  return sum;
}

bool libbsonAccepts(std::string_view bytes) {
  bson_t wire;
  size_t offset = 0;
  return bson_init_static(&wire, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()) &&
         bson_validate(&wire, BSON_VALIDATE_NONE, &offset);
}

std::string nested(int depth) {
  Builder b;
  for (int i = 1; i < depth; ++i) b.openDocument("a");
  return std::move(b.finish()).release();
}

Status statusOf(std::string_view bytes, const ValidateOptions& options = {}) {
  return validateTight(bytes, options).status();
}

RC_GTEST_PROP(Validate, AcceptsWhatTheBuilderWrites, (Document document)) {
  const auto size = validateTight(document.bytes(), {.checkUtf8 = true});
  RC_ASSERT(size.isOK());
  RC_ASSERT(*size == static_cast<int32_t>(document.bytes().size()));
  RC_ASSERT(libbsonAccepts(document.bytes()));
}

RC_GTEST_PROP(Validate, WhatItAcceptsOfDamagedBytesCanBeReadSafely, (Document document)) {
  std::string bytes = document.bytes();
  const auto changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes; ++i) bytes[*rc::gen::inRange<size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
  const auto block = std::make_unique<char[]>(bytes.size());
  std::memcpy(block.get(), bytes.data(), bytes.size());
  const auto size = validate({block.get(), bytes.size()});
  if (size.isOK()) walk(View(block.get()));
}

RC_GTEST_PROP(Validate, RefusesEveryTruncation, (Document document)) {
  const auto length = *rc::gen::inRange<size_t>(0, document.bytes().size());
  RC_ASSERT(statusOf(std::string_view(document.bytes()).substr(0, length)) == ErrorCode::kInvalidBSON);
}

TEST(Validate, TakesOneDocumentAndIgnoresWhatFollows) {
  const std::string bytes = doc("a", 1).bytes() + "more";
  EXPECT_EQ(validateTight(bytes).value(), 12);
}

TEST(Validate, RefusesDocumentsBeyondTheLimit) {
  const Document large = doc("a", std::string(2000, 'x'));
  const Status status = statusOf(large.bytes(), {.maxSize = 1000});
  EXPECT_EQ(status.code(), ErrorCode::kBSONObjectTooLarge);
  EXPECT_TRUE(status.reason().starts_with("BSONObj size: 2013 (0x7DD) is invalid.")) << status.reason();
}

TEST(Validate, RefusesNestingBeyondTheLimitWithoutRecursion) {
  EXPECT_TRUE(validateTight(nested(kMaxCommandNesting + 1)).isOK()) << "the command, and as many levels below it";
  EXPECT_EQ(statusOf(nested(kMaxCommandNesting + 2)).code(), ErrorCode::kOverflow);
  EXPECT_EQ(statusOf(nested(200'000)).code(), ErrorCode::kOverflow);
  EXPECT_EQ(statusOf(nested(4), {.maxDepth = 3}).code(), ErrorCode::kOverflow);
  EXPECT_EQ(statusOf(nested(100'000), {.maxDepth = 1'000'000}).code(), ErrorCode::kOverflow);
}

TEST(Validate, RefusesUnknownTypes) {
  for (int type = 0x14; type < 0x100; ++type) {
    if (type == 0x7F || type == 0xFF) continue;
    std::string bytes = doc("a", Null{}).bytes();
    bytes[4] = static_cast<char>(type);
    EXPECT_EQ(statusOf(bytes).code(), ErrorCode::kInvalidBSON) << type;
  }
}

TEST(Validate, RefusesBooleansOtherThanZeroAndOne) {
  std::string bytes = doc("a", true).bytes();
  bytes[7] = 2;
  EXPECT_EQ(statusOf(bytes).code(), ErrorCode::kInvalidBSON);
}

TEST(Validate, RefusesStringsWithAWrongLengthOrWithoutTheirNul) {
  const std::string good = doc("a", "text").bytes();
  for (const char length : {0, -1, 4, 6, 127}) {
    std::string bytes = good;
    bytes[7] = length;
    EXPECT_EQ(statusOf(bytes).code(), ErrorCode::kInvalidBSON) << int{length};
  }
  std::string unterminated = good;
  unterminated[15] = 'x';
  EXPECT_EQ(statusOf(unterminated).code(), ErrorCode::kInvalidBSON);
}

TEST(Validate, RefusesNestedDocumentsThatLeaveTheirParentOrLackTheirEnd) {
  const std::string good = doc("a", doc("b", 1)).bytes();
  std::string longer = good, shorter = good, open = good;
  ++longer[7];
  --shorter[7];
  open[good.size() - 2] = 1;
  for (const auto& bytes : {longer, shorter, open}) EXPECT_EQ(statusOf(bytes).code(), ErrorCode::kInvalidBSON);
}

TEST(Validate, ChecksTheInnerLengthOfOldBinaryData) {
  const std::string inner("\x02\0\0\0ab", 6);
  EXPECT_TRUE(validateTight(doc("a", Binary{2, inner}).bytes()).isOK());
  const std::string wrong("\x03\0\0\0ab", 6);
  EXPECT_EQ(statusOf(doc("a", Binary{2, wrong}).bytes()).code(), ErrorCode::kInvalidBSON);
  EXPECT_EQ(statusOf(doc("a", Binary{2, "ab"}).bytes()).code(), ErrorCode::kInvalidBSON);
}

TEST(Validate, ChecksUtf8OnlyWhenAsked) {
  for (const char* bad : {"\xFF", "\xC0\x80", "\xED\xA0\x80", "abcdefgh\xC3"}) {
    const Document document = doc("a", bad);
    EXPECT_TRUE(validateTight(document.bytes()).isOK());
    EXPECT_EQ(statusOf(document.bytes(), {.checkUtf8 = true}).code(), ErrorCode::kInvalidBSON);
    EXPECT_EQ(statusOf(doc(bad, 1).bytes(), {.checkUtf8 = true}).code(), ErrorCode::kInvalidBSON);
  }
  EXPECT_TRUE(validateTight(doc("a", "abcdefghi\xC3\xA9").bytes(), {.checkUtf8 = true}).isOK());
}

TEST(Validate, ShowsTextThatIsNotUtf8AsFarAsItIs) {
  EXPECT_EQ(asUtf8("gr\xC3\xBCn"), "gr\xC3\xBCn");
  EXPECT_EQ(asUtf8("a\xFF"
                   "b\xC3"),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

TEST(Validate, SaysWhereAndWhatIsWrong) {
  std::string bytes = doc("a", 1, "b", true).bytes();
  bytes[14] = 7;
  EXPECT_EQ(statusOf(bytes).reason(), "Invalid BSON: a boolean is neither 0 nor 1 (at offset 14)");
}

}  // namespace
}  // namespace troupe::bson
