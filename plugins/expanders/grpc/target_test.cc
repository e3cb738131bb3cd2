#include "plugins/expanders/grpc/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/must.h"

namespace coppice::expanders::grpc {
namespace {

TEST(TargetTest, ReadsWhatUpstreamAndWhatTheProposalWrote) {
  EXPECT_EQ(MUST(TargetOf("expander:7000")), "expander:7000");
  EXPECT_EQ(MUST(TargetOf("dns:///expander:7000")), "dns:///expander:7000");
  EXPECT_EQ(MUST(TargetOf("unix:/run/expander.sock")), "unix:/run/expander.sock");
  EXPECT_EQ(MUST(TargetOf("https://expander")), "expander:443");
  EXPECT_EQ(MUST(TargetOf("https://expander:7000/")), "expander:7000");
  EXPECT_EQ(MUST(TargetOf("https://[::1]")), "[::1]:443");
  EXPECT_EQ(MUST(TargetOf("https://[::1]:7000")), "[::1]:7000");
}

TEST(TargetTest, RefusesWithASentence) {
  for (const char* bad : {"", "http://expander:7000", "https://expander/server", "https://",
                          "https:///", "https://:7000"}) {
    const auto target = TargetOf(bad);
    EXPECT_EQ(target.code(), Code::kInvalidArgument) << bad;
    EXPECT_THAT(target.status().message(), testing::StartsWith("--grpc-expander-url")) << bad;
  }
}

}  // namespace
}  // namespace coppice::expanders::grpc
