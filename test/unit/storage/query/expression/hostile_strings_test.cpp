// Operators of strings over texts that make a plain search take quadratic time: the work they count is proportional to
// the texts, and their operation may end them at any time.
#include <gtest/gtest.h>

#include <string>

#include "storage/query/expression/expression.hpp"
#include "storage/query/expression/text_search.hpp"
#include "storage/query/parse_context.hpp"
#include "test/unit/storage/query/test_work.hpp"

namespace troupe::query {
namespace {

class HostileStrings : public ::testing::Test {
 protected:
  HostileStrings() {
    context.work = &work;
    std::string chars = "\u20ac";
    for (int i = 0; i < 60'000; ++i) chars += 'b';
    document = bson::doc("text", std::string(300'000, 'a'), "trimmed", euros(100'000), "chars", chars + "a", "token",
                         std::string(150'000, 'a') + "b");
    attacks = {
        bson::doc("v", bson::doc("$trim", bson::doc("input", "$trimmed", "chars", "$chars"))),
        bson::doc("v", bson::doc("$ltrim", bson::doc("input", "$trimmed", "chars", "$chars"))),
        bson::doc("v", bson::doc("$rtrim", bson::doc("input", "$trimmed", "chars", "$chars"))),
        bson::doc("v", bson::doc("$indexOfBytes", bson::array("$text", "$token"))),
        bson::doc("v", bson::doc("$indexOfCP", bson::array("$text", "$token"))),
        bson::doc("v", bson::doc("$split", bson::array("$text", "$token"))),
        bson::doc("v", bson::doc("$replaceOne", bson::doc("input", "$text", "find", "$token", "replacement", ""))),
        bson::doc("v", bson::doc("$replaceAll", bson::doc("input", "$text", "find", "$token", "replacement", ""))),
    };
  }
  static std::string euros(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "\u20ac";
    return text;
  }
  StatusWith<bson::Value> evaluate(const bson::Document& spec) {
    TROUPE_ASSIGN(const auto expression, parseExpression(spec.view()["v"], context));
    Variables variables(&work);
    return expression->evaluate(document, variables);
  }

  TestWork work;
  ParseContext context;
  bson::Document document;
  std::vector<bson::Document> attacks;
};

TEST_F(HostileStrings, EndWithTheirOperation) {
  for (const bson::Document& attack : attacks) {
    work.killed = true;
    Status status;
    for (int i = 0; i < 20 && status.isOK(); ++i) status = evaluate(attack).status();
    EXPECT_EQ(status.code(), ErrorCode::kInterrupted) << attack.view()["v"].asDocument().first().name();
  }
}

TEST_F(HostileStrings, CountWorkInProportionToTheTexts) {
  for (const bson::Document& attack : attacks) {
    work.looks = 0;
    EXPECT_TRUE(evaluate(attack).isOK());
    EXPECT_LE(work.looks, 100) << attack.view()["v"].asDocument().first().name();
  }
}

TEST_F(HostileStrings, ConstantsEndTheParseWithTheOperation) {
  const auto spec = bson::doc("v", bson::doc("$trim", bson::doc("input", euros(100'000), "chars", "\u20ac")));
  work.killed = true;
  EXPECT_EQ(parseExpression(spec.view()["v"], context).status().code(), ErrorCode::kInterrupted);
}

TEST_F(HostileStrings, ReadingLargeArgumentsCounts) {
  document = bson::doc("text", std::string(8'000'000, 'a'));
  for (const char* op : {"$strLenCP", "$strLenBytes", "$toLower"}) {
    Status status;
    work.killed = false;
    const auto spec = bson::doc("v", bson::doc(op, "$text"));
    const auto expression = parseExpression(spec.view()["v"], context);
    Variables variables(&work);
    work.killed = true;
    for (int i = 0; i < 4 && status.isOK(); ++i) status = (*expression)->evaluate(document, variables).status();
    EXPECT_EQ(status.code(), ErrorCode::kInterrupted) << op;
  }
}

TEST(FindText, FindsWhatAPlainSearchFinds) {
  const std::string text = std::string(70'000, 'a') + "b" + std::string(70'000, 'a') + "bc";
  const std::string tokens[] = {"a", "b", "bc", "c", "ab", "d", "", std::string(70'000, 'a') + "bc", text, text + "x"};
  for (const std::string& token : tokens)
    for (const size_t from : {size_t{0}, size_t{1}, size_t{65'536}, size_t{70'001}, text.size(), text.size() + 1})
      EXPECT_EQ(*findText(text, token, from, nullptr), text.find(token, from)) << token.size() << " from " << from;
}

TEST(FindText, FindsTokensThatLieAcrossBlocks) {
  for (size_t at = 65'530; at < 65'545; ++at) {
    std::string text(200'000, 'x');
    text.replace(at, 5, "token");
    EXPECT_EQ(*findText(text, "token", 0, nullptr), at);
  }
}

TEST(FindText, EndsWithItsOperation) {
  TestWork work;
  work.killAtLook = 2;
  const std::string text(24'000'000, 'a');
  EXPECT_EQ(findText(text, std::string(100'000, 'a') + "b", 0, &work).status().code(), ErrorCode::kInterrupted);
  EXPECT_EQ(work.looks, 2);
}

TEST(CharacterSet, KnowsItsCharactersOnly) {
  const auto set = *CharacterSet::of("a\u00e9\u20ac\U0001f600", nullptr);
  for (const char* character : {"a", "\u00e9", "\u20ac", "\U0001f600"}) EXPECT_TRUE(set.has(character)) << character;
  for (const char* character : {"b", "\u00e8", "\u20ad", "\U0001f601", "\xff", "\x80"})
    EXPECT_FALSE(set.has(character)) << character;
}

}  // namespace
}  // namespace troupe::query
