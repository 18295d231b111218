#include "supervisors/assembly/link_wiring.hpp"

#include <gtest/gtest.h>

#include "actors/environment/virtual_environment.hpp"
#include "actors/kernel/node.hpp"

namespace troupe::supervisors {
namespace {

TEST(LinkWiring, ANodeWithoutKeyAndLeaveRefusesWithAHint) {
  Node node({.name = "a:1", .environment = std::make_shared<VirtualEnvironment>(), .manual = true});
  log::Log log({.file = "/dev/null"}, [] { return int64_t{0}; });
  AssemblyOptions options;
  options.links.emplace();
  const auto network = transport::makeTcpNetwork();
  const auto links = makeLinks(node, *network, options, log, nullptr);
  ASSERT_TRUE(links.isOK());
  auto connecting = (*links)->settings().connect("b:2");
  ASSERT_TRUE(connecting.outcome.isReady());
  EXPECT_NE(connecting.outcome.take().status().reason().find("--keyFile"), std::string::npos);
}

}  // namespace
}  // namespace troupe::supervisors
