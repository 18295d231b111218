#include "messaging/description/binary_archive.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "messaging/description/fingerprint.hpp"
#include "messaging/wire/crc32c.hpp"
#include "test/unit/messaging/description/sample.hpp"

namespace troupe::machines {
namespace {

using namespace sample;

/// The same type in two ages.
namespace older {
struct Term {
  int32_t number = 0;
};
}  // namespace older
namespace newer {
struct Term {
  int32_t number = 0;
  std::string votedFor;
};
template <class Archive>
void serialize(Archive& archive, Term& term, const unsigned version) {
  archive& boost::serialization::make_nvp("number", term.number);
  if (version >= 2) archive& boost::serialization::make_nvp("votedFor", term.votedFor);
  else term.votedFor = "nobody";
}
}  // namespace newer

}  // namespace
}  // namespace troupe::machines

TROUPE_DESCRIBE(troupe::machines::older::Term, 1, number)
TROUPE_DESCRIBE_VERSION(troupe::machines::newer::Term, 2)

namespace troupe::machines {
namespace {

template <class T>
std::string failure(std::string_view bytes) {
  const auto read = fromBinary<T>(bytes);
  return read.isOK() ? "OK" : read.status().toString();
}

/// Bytes with a checksum that fits, so that what is behind it has to cope.
std::string sealed(std::string bytes) {
  const uint32_t checksum = wire::crc32c(std::string_view(bytes).substr(4));
  std::copy_n(reinterpret_cast<const char*>(&checksum), 4, bytes.begin());
  return bytes;
}

RC_GTEST_PROP(BinaryArchive, ReadsWhatItWrote, ()) {
  const Everything value = *arbitraryEverything();
  const auto read = fromBinary<Everything>(toBinary(value));
  if (!read.isOK()) RC_FAIL(read.status().toString());
  RC_ASSERT(sameValue(*read, value));
}

RC_GTEST_PROP(BinaryArchive, NoticesAnyDamage, ()) {
  std::string bytes = toBinary(*arbitraryEverything());
  const auto at = *rc::gen::inRange<size_t>(0, bytes.size());
  bytes[at] = static_cast<char>(bytes[at] ^ *rc::gen::inRange(1, 256));
  RC_ASSERT(fromBinary<Everything>(bytes).status() == ErrorCode::kChecksumMismatch);
  bytes.resize(*rc::gen::inRange<size_t>(0, bytes.size()));
  RC_ASSERT(fromBinary<Everything>(bytes).status() == ErrorCode::kChecksumMismatch);
}

RC_GTEST_PROP(BinaryArchive, AnswersSealedDamageWithAStatus, ()) {
  std::string bytes = toBinary(*arbitraryEverything());
  for (int changes = *rc::gen::inRange(1, 6); changes > 0; --changes) {
    const auto at = *rc::gen::inRange<size_t>(16, bytes.size());
    switch (*rc::gen::inRange(0, 3)) {
      case 0: bytes[at] = static_cast<char>(*rc::gen::arbitrary<uint8_t>()); break;
      case 1: bytes.erase(at, *rc::gen::inRange<size_t>(0, 8)); break;
      default:
        bytes.insert(at, *rc::gen::inRange<size_t>(0, 12), static_cast<char>(*rc::gen::element(0, 1, 0x7F, 0xFF)));
    }
    if (bytes.size() <= 20) break;
  }
  const auto read = fromBinary<Everything>(sealed(bytes));
  RC_CLASSIFY(read.isOK(), "read all the same");
  if (read.isOK()) RC_ASSERT(fromBinary<Everything>(toBinary(*read)).isOK());
  else RC_ASSERT(!read.status().reason().empty());
}

TEST(BinaryArchive, IsShort) {
  EXPECT_EQ(toBinary(Point{1, 2}).size(), 4u + 1 + 6 + 1 + 2);  // checksum, format, name, version, numbers
  Everything value;
  value.events.resize(100, Refused{});
  EXPECT_LT(toBinary(value).size(), 700u);  // the name of a variant's type stands once
}

TEST(BinaryArchive, ReadsOlderSnapshots) {
  const auto read = fromBinary<newer::Term>(toBinary(older::Term{7}));
  ASSERT_TRUE(read.isOK()) << read.status().toString();
  EXPECT_EQ(read->number, 7);
  EXPECT_EQ(read->votedFor, "nobody");
  const auto same = fromBinary<newer::Term>(toBinary(newer::Term{7, "a"}));
  ASSERT_TRUE(same.isOK());
  EXPECT_EQ(same->votedFor, "a");
}

TEST(BinaryArchive, RefusesNewerSnapshotsByBothNumbers) {
  EXPECT_EQ(failure<older::Term>(toBinary(newer::Term{7, "a"})),
            "UnsupportedFormat: Term: Term of version 2, newer than version 1, the newest that this node knows");
}

TEST(BinaryArchive, RefusesAnotherType) {
  EXPECT_EQ(failure<Drained>(toBinary(Point{1, 2})), "TypeMismatch: a snapshot of Point is not one of Drained");
}

TEST(BinaryArchive, RefusesAnotherFormat) {
  std::string bytes = toBinary(Point{1, 2});
  bytes[4] = 9;
  EXPECT_EQ(failure<Point>(sealed(bytes)), "UnsupportedFormat: Point: the snapshot has another format");
}

TEST(BinaryArchive, RefusesBytesThatAreLeftOver) {
  EXPECT_EQ(failure<Point>(sealed(toBinary(Point{1, 2}) + "x")), "FailedToParse: Point: the snapshot is damaged here");
}

TEST(BinaryArchive, RefusesBytesThatAreNotThere) {
  std::string bytes = toBinary(Point{1, 2});
  bytes.pop_back();
  EXPECT_EQ(failure<Point>(sealed(bytes)), "FailedToParse: Point.y: the snapshot is damaged here");
  EXPECT_EQ(failure<Point>(""), "ChecksumMismatch: Point: the snapshot is damaged");
}

TEST(BinaryArchive, RefusesACountBeyondTheBytes) {
  std::string bytes = toBinary(Tree{"", {}});
  bytes.back() = 100;
  EXPECT_EQ(failure<Tree>(sealed(bytes)), "FailedToParse: Tree.children: the snapshot is damaged here");
}

TEST(BinaryArchive, CarriesVariants) {
  const auto read = fromBinary<Event>(toBinary(Event(Point{1, 2})));
  ASSERT_TRUE(read.isOK());
  EXPECT_EQ(std::get<Point>(*read).y, 2);
}

TEST(BinaryArchive, RefusesWhatIsNestedTooDeep) {
  EXPECT_THROW((void)toBinary(branch(80)), std::length_error);
  std::string bytes = toBinary(Tree{"", {}});
  const std::string head = bytes.substr(0, bytes.size() - 3);
  std::string deep = head;
  for (int i = 0; i < 80; ++i) deep += std::string("\0\0\1", 3);  // version, name, one child
  EXPECT_THAT(failure<Tree>(sealed(deep + std::string(3, '\0'))),
              testing::StartsWith("Overflow: Tree.children.*.children.*"));
}

TEST(BinaryArchive, ReadsWhatIsNestedAsDeepAsItWrites) {
  int deepest = 1;
  for (; deepest < 80; ++deepest) {
    try {
      EXPECT_EQ(failure<Tree>(toBinary(branch(deepest))), "OK") << deepest;
    } catch (const std::length_error&) {
      break;
    }
  }
  EXPECT_GT(deepest, 30);
  EXPECT_LT(deepest, 80);
}

}  // namespace
}  // namespace troupe::machines
