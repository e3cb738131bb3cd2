#include "kube/port_forward.h"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::kube {
namespace {

using std::chrono::seconds;
using WallClock = std::chrono::steady_clock;

std::vector<std::string> Shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

TEST(PortForwardTest, WhatItSaysLaterDoesNotFillThePipe) {
  const test::TempDirectory dir;
  const auto forward =
      MUST(PortForward::Start(Shell("echo 'Forwarding from 127.0.0.1:4711 -> 8086'\n"
                                    "head -c 300000 /dev/zero\n: >" +
                                    dir.At("through") + "\nexec sleep 60")));
  EXPECT_EQ(forward->port(), 4711);
  const auto give_up = WallClock::now() + seconds(20);
  while (!std::filesystem::exists(dir.At("through")) && WallClock::now() < give_up)
    std::this_thread::yield();
  EXPECT_TRUE(std::filesystem::exists(dir.At("through")));
}

TEST(PortForwardTest, AChildOfItsOwnThatHoldsThePipeDoesNotHoldUsUp) {
  const auto began = WallClock::now();
  {
    const auto forward = MUST(PortForward::Start(
        Shell("sleep 5 & echo 'Forwarding from 127.0.0.1:4711 -> 8086'; exec sleep 60")));
  }
  EXPECT_LT(WallClock::now() - began, seconds(4));
}

TEST(PortForwardTest, SomethingElseThanAPortIsAFailure) {
  EXPECT_THAT(PortForward::Start(Shell("echo error: no pods")).status().message(),
              testing::HasSubstr("no pods"));
  EXPECT_THAT(PortForward::Start(Shell("exit 1")).status().message(),
              testing::HasSubstr("has ended"));
  EXPECT_THAT(PortForward::Start({"/no/such/program"}).status().message(),
              testing::HasSubstr("cannot be started"));
}

}  // namespace
}  // namespace coppice::kube
