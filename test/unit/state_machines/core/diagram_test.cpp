#include "state_machines/core/diagram.hpp"

#include <gtest/gtest.h>

#include "test/unit/state_machines/core/lease_handoff.hpp"

namespace troupe::machines::test {
namespace {

const MachineOutline kOutline = outlineOf<LeaseHandoff>();

TEST(MachineOutline, ListsPhasesWithTheirMeaningsAndTheWholeTable) {
  ASSERT_EQ(kOutline.phases.size(), 3u);
  EXPECT_STREQ(kOutline.phases[1].name, "draining");
  ASSERT_EQ(kOutline.rows.size(), 3u);
  EXPECT_STREQ(kOutline.rows[0].from, "offering");
  EXPECT_STREQ(kOutline.rows[0].event, "Accepted");
  EXPECT_EQ(kOutline.phase("nowhere"), nullptr);
}

TEST(Mermaid, DrawsEachTransitionAndLightsTheCurrentPhase) {
  EXPECT_EQ(toMermaid(kOutline, "draining"),
            "stateDiagram-v2\n"
            "  offering : offering\n"
            "  draining : draining\n"
            "  granted : granted\n"
            "  [*] --> offering\n"
            "  offering --> draining : Accepted\n"
            "  offering --> [*] : Declined\n"
            "  draining --> granted : Drained\n"
            "  classDef current fill:#2b7,color:#fff\n"
            "  class draining current\n");
}

TEST(Dot, DrawsTheSame) {
  const std::string dot = toDot(kOutline);
  EXPECT_NE(dot.find("offering -> draining [label=\"Accepted\"];"), std::string::npos) << dot;
  EXPECT_NE(dot.find("offering -> end [label=\"Declined\"];"), std::string::npos) << dot;
}

TEST(Markdown, HasTheTableOfTransitions) {
  EXPECT_NE(toMarkdown(kOutline).find("| offering | Declined | (end) |"), std::string::npos);
}

}  // namespace
}  // namespace troupe::machines::test
