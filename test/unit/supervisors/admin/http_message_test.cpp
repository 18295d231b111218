#include "supervisors/admin/http_message.hpp"

#include <nlohmann/json.hpp>

namespace troupe::supervisors {
namespace {

TEST(ParseTarget, SplitsAndDecodesPathAndQuery) {
  HttpRequest request;
  ASSERT_TRUE(parseTarget("/actors/a%20b?sort=-handled&tree=1&type=Some+Thing&flag", request).isOK());
  EXPECT_EQ(request.path, "/actors/a b");
  const std::map<std::string, std::string> expected{
      {"sort", "-handled"}, {"tree", "1"}, {"type", "Some Thing"}, {"flag", ""}};
  EXPECT_EQ(request.query, expected);
}

TEST(ParseTarget, LeavesAPlusInAPathAlone) {
  HttpRequest request;
  ASSERT_TRUE(parseTarget("/a+b", request).isOK());
  EXPECT_EQ(request.path, "/a+b");
}

TEST(ParseTarget, RefusesWhatIsNoProperAddress) {
  for (const char* target : {"", "actors", "*", "/%", "/%2", "/%zz", "/%00", "/a%0d%0ab", "/x?a=%1"}) {
    HttpRequest request;
    EXPECT_EQ(parseTarget(target, request), ErrorCode::kBadValue) << target;
  }
}

TEST(ErrorResponse, CarriesNumberNameAndReason) {
  const auto response = errorResponse(Status(ErrorCode::kNoSuchKey, "there is no actor /x"));
  EXPECT_EQ(response.status, 404U);
  const auto error = nlohmann::json::parse(response.body)["error"];
  EXPECT_EQ(error["status"], 404);
  EXPECT_EQ(error["codeName"], "NoSuchKey");
  EXPECT_EQ(error["message"], "there is no actor /x");
}

TEST(ErrorResponse, ChoosesTheStatusByTheCode) {
  EXPECT_EQ(errorResponse(Status(ErrorCode::kBadValue, "")).status, 400U);
  EXPECT_EQ(errorResponse(Status(ErrorCode::kIllegalOperation, "")).status, 409U);
  EXPECT_EQ(errorResponse(Status(ErrorCode::kExceededTimeLimit, "")).status, 504U);
  EXPECT_EQ(errorResponse(Status(ErrorCode::kInternalError, "")).status, 500U);
}

TEST(ErrorResponse, SurvivesTextThatIsNoUtf8) {
  EXPECT_NO_THROW(errorResponse(Status(ErrorCode::kBadValue, "\xff\xfe")));
}

TEST(CookieValue, FindsTheNamedCookieOnly) {
  EXPECT_EQ(cookieValue("a=1; troupe-admin=xyz; b=2", "troupe-admin"), "xyz");
  EXPECT_EQ(cookieValue("not-troupe-admin=xyz", "troupe-admin"), "");
  EXPECT_EQ(cookieValue("", "troupe-admin"), "");
}

}  // namespace
}  // namespace troupe::supervisors
