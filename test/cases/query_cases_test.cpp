// Registers one test for each line of the *.jsonl files beside this source: `Cases/<file>.<line>`.
#include <gtest/gtest.h>

#include "test/cases/query_case.hpp"

namespace troupe::cases {
namespace {

constexpr const char* kFolder = "test/cases";  // tests run in the root of the project

class CaseTest : public testing::Test {
 public:
  explicit CaseTest(QueryCase given) : case_(std::move(given)) {}
  void TestBody() override {
    const std::string fault = case_.check();
    EXPECT_TRUE(fault.empty()) << kFolder << "/" << case_.file << ".jsonl:" << case_.line << ": " << fault << "\n"
                               << case_.text;
  }

 private:
  QueryCase case_;
};

bool registerCases() {
  if (!std::filesystem::is_directory(kFolder)) return false;
  for (const QueryCase& each : readCases(kFolder)) {
    const std::string file = std::string(kFolder) + "/" + each.file + ".jsonl";
    testing::RegisterTest(("Cases/" + each.file).c_str(), ("line" + std::to_string(each.line)).c_str(), nullptr,
                          nullptr, file.c_str(), each.line, [each]() -> CaseTest* { return new CaseTest(each); });
  }
  return true;
}
const bool kRegistered = registerCases();

std::string fault(const std::string& line) { return QueryCase{"x", 1, line}.check(); }

TEST(QueryCases, AreFound) {
  EXPECT_TRUE(kRegistered) << "run this in the root of the project";
  EXPECT_GT(readCases(kFolder).size(), 1000U);
}

TEST(QueryCases, AreToldFromTheirOutcome) {
  EXPECT_EQ(fault(R"({"name": "sum", "expression": {"$add": [1, 1]}, "gives": 2})"), "");
  EXPECT_NE(fault(R"({"name": "sum", "expression": {"$add": [1, 1]}, "gives": 3})").find("instead of"),
            std::string::npos);
  EXPECT_NE(fault(R"({"name": "type", "expression": {"$add": [1, 1]}, "gives": 2.0})"), "");
  EXPECT_NE(fault(R"({"name": "code", "expression": {"$divide": [1, 0]}, "fails": 3})"), "");
  EXPECT_NE(fault(R"({"name": "match", "match": {"a": 1}, "matches": [{"a": 2}]})"), "");
  EXPECT_NE(fault(R"({"name": "match", "match": {"a": 1}, "rejects": [{"a": 1}]})"), "");
  EXPECT_NE(fault(R"({"name": "update", "update": {"$set": {"a": 1}}, "doc": {"a": 1}, "gives": {"a": 1}})"), "");
  EXPECT_NE(fault(R"({"name": "stage", "pipeline": [{"$limit": 1}], "docs": [{"a": 1}], "gives": []})"), "");
}

TEST(QueryCases, RefuseLinesThatWouldProveNothing) {
  EXPECT_EQ(fault(R"({"name": "a", "expression": 1})"), "bad case: it names no outcome");
  EXPECT_EQ(fault(R"({"name": "a", "expression": 1, "give": 1})"), "bad case: unknown field 'give'");
  EXPECT_EQ(fault(R"({"name": "a", "gives": 1})").substr(0, 17), "bad case: neither");
  EXPECT_EQ(fault("{").substr(0, 9), "bad case:");
}

}  // namespace
}  // namespace troupe::cases
