#include "actors/replication/rollback_figures.hpp"

#include <gtest/gtest.h>

#include "actors/replication/rollback_actor.hpp"

namespace troupe::replication {
namespace {

TEST(RollbackFigures, AreTheSumOfAllRollbacks) {
  RollbackFigures figures;
  EXPECT_EQ(figures.get().rollbacks, 0);
  figures.note({.undone = 5, .savedDocuments = 3});
  figures.note({.undone = 2});
  const auto values = figures.get();
  EXPECT_EQ(values.rollbacks, 2);
  EXPECT_EQ(values.entries, 7);
  EXPECT_EQ(values.savedDocuments, 3);
}

}  // namespace
}  // namespace troupe::replication
