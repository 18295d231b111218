#include "supervisors/cli/session_rows.hpp"

#include <gtest/gtest.h>

namespace troupe::supervisors {
namespace {

const Paint kUnpainted(false);

TEST(SessionRowsTest, TellWhatASessionDoes) {
  const bson::Document idle = bson::doc("session", "30313233-3435-3637-3839-616263646566", "user", "", "lastUse",
                                        bson::Date{5'000}, "openCursors", 2, "waiters", 0);
  const bson::Document running = bson::doc("session", "40313233-3435-3637-3839-616263646566", "user", "ann@admin",
                                           "lastUse", bson::Date{14'000}, "openCursors", 0, "waiters", 3, "operation",
                                           bson::doc("opid", 77, "command", "insert", "ns", "shop.orders"));
  const std::string shown = renderSessions({running, idle}, 2, 15'000, 200, kUnpainted);
  EXPECT_NE(shown.find("40313233-3435-3637-3839-616263646566  ann@admin"), std::string::npos) << shown;
  EXPECT_NE(shown.find("insert shop.orders (op 77)"), std::string::npos) << shown;
  EXPECT_NE(shown.find("10.0 s ago"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("of"), std::string::npos) << "all are shown";
  EXPECT_NE(renderSessions({idle}, 1'234, 15'000, 200, kUnpainted).find("1 of 1,234 sessions"), std::string::npos);
  EXPECT_EQ(renderSessions({}, 0, 15'000, 200, kUnpainted), "No session was used on this node lately.\n");
}

TEST(SessionRowsTest, ComeOnceEach) {
  const auto row = [](int id) { return bson::doc("_id", bson::doc("id", id), "user", "ann@admin"); };
  SessionRows rows;
  rows.add(bson::doc("sessions", std::vector{row(1), row(2)}));
  rows.add(bson::doc("sessions", std::vector{row(2), row(3)}));
  EXPECT_EQ(rows.rows(), (std::vector{row(1), row(2), row(3)}));
}

}  // namespace
}  // namespace troupe::supervisors
