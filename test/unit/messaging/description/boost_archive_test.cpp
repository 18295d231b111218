#include "messaging/description/boost_archive.hpp"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/archive/text_iarchive.hpp>
#include <boost/archive/text_oarchive.hpp>
#include <boost/archive/xml_iarchive.hpp>
#include <boost/archive/xml_oarchive.hpp>
#include <sstream>

#include "messaging/description/fingerprint.hpp"
#include "test/unit/messaging/description/sample.hpp"

namespace troupe::machines {
namespace {

using boost::serialization::make_nvp;
using sample::Everything;

template <class Out, class T>
std::string written(const T& value) {
  std::stringstream stream;
  Out(stream) << make_nvp("value", value);
  return stream.str();
}
template <class In, class T>
T readBack(const std::string& bytes) {
  std::stringstream stream(bytes);
  T value{};
  In(stream) >> make_nvp("value", value);
  return value;
}
template <class Out, class In, class T>
T passed(const T& value) {
  return readBack<In, T>(written<Out>(value));
}

RC_GTEST_PROP(BoostArchive, AnyValuePassesThroughTheBinaryArchive, ()) {
  const Everything value = sample::everything();
  RC_ASSERT(sameValue(passed<boost::archive::binary_oarchive, boost::archive::binary_iarchive>(value), value));
}

Everything plain() {
  Everything value;
  value.id.bytes[3] = 7;
  value.numbers = {.truth = true, .tiny = -3, .huge = ~uint64_t{0}, .real = 0.1, .single = 1.5F};
  value.numbers.patience = std::chrono::milliseconds(250);
  value.text = "a <text> & more";
  value.bytes = {0, 255, 10};
  value.colour = sample::Colour::kDarkBlue;
  value.status = Status(ErrorCode::kDuplicateKey, "twice", bson::doc("keyValue", bson::doc("a", 1)));
  value.document = bson::doc("a", 1, "b", "x");
  value.any = bson::Value(2.5);
  value.maybeText = "here";
  value.points = {{1, 2}, {3, 4}};
  value.names = {"x", "y"};
  value.byName = {{"p", {5, 6}}};
  value.event = sample::Refused{Status(ErrorCode::kHostUnreachable, "no route"), sample::Point{7, 8}};
  value.events = {sample::Drained{}, sample::Point{9, 10}};
  return value;
}

TEST(BoostArchive, EveryKindOfFieldPassesThroughTextAndXml) {
  const Everything value = plain();
  EXPECT_TRUE(sameValue(passed<boost::archive::text_oarchive, boost::archive::text_iarchive>(value), value));
  EXPECT_TRUE(sameValue(passed<boost::archive::xml_oarchive, boost::archive::xml_iarchive>(value), value));
}

TEST(BoostArchive, FieldsAndTypesStandByNameInXml) {
  const std::string xml = written<boost::archive::xml_oarchive>(plain());
  EXPECT_NE(xml.find("<hex>00000007-0000-0000-0000-000000000000</hex>"), std::string::npos);
  EXPECT_NE(xml.find("<type>Refused</type>"), std::string::npos);
  EXPECT_NE(xml.find("version=\"3\""), std::string::npos) << "the class version";
}

TEST(BoostArchive, RefusesDamagedIdsDocumentsAndTypes) {
  const std::string text = written<boost::archive::xml_oarchive>(plain());
  const auto damaged = [&text](const std::string& from, const std::string& to) {
    std::string bytes = text;
    bytes.replace(bytes.find(from), from.size(), to);
    return readBack<boost::archive::xml_iarchive, Everything>(bytes);
  };
  EXPECT_THROW(damaged("<hex>00000007", "<hex>0000000z"), std::invalid_argument);
  EXPECT_THROW(damaged("<type>Refused", "<type>Gone"), std::invalid_argument);
  EXPECT_THROW((readBack<boost::archive::xml_iarchive, Everything>(text.substr(0, 300))),
               boost::archive::archive_exception);
  EXPECT_THROW(detail::checkedDocument("no document"), std::invalid_argument);
  EXPECT_THROW(detail::checkedDocument(std::string(bson::Document().view().bytes()) + "x"), std::invalid_argument);
}

TEST(BsonArchive, IsASavingAndALoadingArchive) {
  const sample::Point point{1, 2};
  const int64_t count = 7;
  const sample::Colour green = sample::Colour::kGreen;
  BsonOutputArchive out;
  out << point << make_nvp("count", count);
  out& make_nvp("colour", green);
  const bson::Document document = out.finish();
  EXPECT_EQ(document, bson::doc("x", 1, "y", int64_t{2}, "count", int64_t{7}, "colour", "green"));

  sample::Point readPoint;
  int64_t readCount = 0;
  sample::Colour colour{};
  BsonInputArchive in(document);
  in >> readPoint >> make_nvp("count", readCount);
  in& make_nvp("colour", colour);
  EXPECT_TRUE(in.status().isOK()) << in.status().toString();
  EXPECT_EQ(readPoint.y, 2);
  EXPECT_EQ(readCount, 7);
  EXPECT_EQ(colour, sample::Colour::kGreen);
  in >> make_nvp("gone", readCount);
  EXPECT_EQ(in.status().code(), ErrorCode::kNoSuchKey);
  in >> make_nvp("count", colour);
  EXPECT_EQ(in.status().code(), ErrorCode::kNoSuchKey) << "the first failure stays";
}

}  // namespace
}  // namespace troupe::machines
