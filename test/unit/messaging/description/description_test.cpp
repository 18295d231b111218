#include "messaging/description/description.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe::machines {
namespace {

struct Handoff {
  struct Document {
    int id = 0;
    std::string lease;
    bool operator==(const Document&) const = default;
  };
  struct Accepted {};
};
enum class Light { kRed, kGreen };

}  // namespace
}  // namespace troupe::machines

TROUPE_DESCRIBE(troupe::machines::Handoff::Document, 4, id, lease)
TROUPE_DESCRIBE(troupe::machines::Handoff::Accepted, 0)
TROUPE_ENUM(troupe::machines::Light, (kRed, "red"), (kGreen, "green"))

namespace troupe::machines {
namespace {

/// Names what it meets.
struct Names : boost::serialization::TroupeArchive {
  std::string text;
  template <class T>
  Names& operator&(const boost::serialization::nvp<T>& field) {
    text.append(field.name()).append(" ");
    return *this;
  }
};

TEST(Description, NamesEachFieldInOrder) {
  Names names;
  Handoff::Document document;
  serialize(names, document, 4u);
  EXPECT_EQ(names.text, "id lease ");
}

TEST(Description, TakesAStructWithoutFields) {
  Names names;
  Handoff::Accepted accepted;
  serialize(names, accepted, 0u);
  EXPECT_EQ(names.text, "");
}

TEST(Description, KnowsWhatIsDescribed) {
  EXPECT_TRUE(Described<Handoff::Document>);
  EXPECT_TRUE(Described<const Handoff::Accepted>);
  EXPECT_FALSE(Described<Handoff>);
  EXPECT_FALSE(Described<int>);
  EXPECT_EQ(kVersionOf<Handoff::Document>, 4u);
  EXPECT_EQ(kVersionOf<Handoff::Accepted>, 0u);
}

TEST(Description, CallsTypesByTheirLastName) {
  EXPECT_EQ(typeName<Handoff::Accepted>(), "Accepted");
  EXPECT_EQ(typeName<Handoff::Document>(), "Document");
}

TEST(Description, CallsADocumentAfterItsMachineInErrors) {
  EXPECT_EQ(subjectName<Handoff::Document>(), "Handoff");
  EXPECT_EQ(subjectName<Handoff::Accepted>(), "Handoff::Accepted");
}

TEST(Description, NamesEnumsBothWays) {
  EXPECT_EQ(EnumNames<Light>::name(Light::kGreen), "green");
  EXPECT_EQ(EnumNames<Light>::name(static_cast<Light>(7)), "");
  EXPECT_EQ(EnumNames<Light>::parse("red"), Light::kRed);
  EXPECT_EQ(EnumNames<Light>::parse("Red"), std::nullopt);
  EXPECT_TRUE(NamedEnum<Light>);
  EXPECT_FALSE(NamedEnum<int>);
}

TEST(Description, KeepsTheFieldVersionFree) {
  EXPECT_FALSE(detail::namesAreFree(1, {"id", "version"}));
  EXPECT_TRUE(detail::namesAreFree(0, {"id", "version"}));
  EXPECT_TRUE(detail::namesAreFree(1, {"id", "versions"}));
}

}  // namespace
}  // namespace troupe::machines
