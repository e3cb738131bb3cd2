// A session whose client means harm, for tests: routes, a load of a megabyte, a time of its own.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "grpc/health.h"
#include "grpc/http2_session.h"
#include "grpc/reflection.h"
#include "test/support/http2_client.h"

namespace coppice::grpc {

inline constexpr size_t kMaxHeld = 1'000'000;

inline std::string Repeat(const std::string& text, size_t times) {
  std::string all;
  while (times-- > 0) all += text;
  return all;
}

class AbuseTest : public testing::Test {
 protected:
  AbuseTest() {
    routes_.Add({.path = "/test.Echo/Echo", .unary = [this](const Call& call) -> Answer {
                   ++calls_;
                   return std::string(call.request);
                 }});
    routes_.Add({.path = "/test.Echo/Big",
                 .unary = [](const Call&) -> Answer { return std::string(90'000, 'b'); }});
    routes_.Add({.path = "/test.Echo/Wait", .unary = nullptr, .waits = true});
    health_.AddTo(routes_);
    AddReflection(routes_, {"grpc.health.v1.Health"});
  }

  std::unique_ptr<Http2Session> Session(SessionLimits limits = {.max_message_bytes = 400'000}) {
    return std::make_unique<Http2Session>(
        Http2Session::Parts{.routes = routes_,
                            .caller = caller_,
                            .clock = clock_,
                            .load = load_,
                            .start_waiting =
                                [this](WaitingCall call) {
                                  load_.Return(call.held);
                                  waiting_.push_back(std::move(call.given_up));
                                }},
        limits);
  }

  void Ticks(Http2Session& session, int n) {
    for (int i = 0; i < n; ++i) {
      clock_.Advance(std::chrono::seconds(1));
      session.Tick();
    }
  }

  FakeClock clock_;
  std::string lines_;
  Log log_{clock_, [this](std::string_view line) { lines_ += line; }, LogFormat::kJson};
  Metrics metrics_;
  ServerLoad load_{
      {.max_bytes = kMaxHeld, .metrics = &metrics_, .metric_prefix = "p_"}, clock_, log_};
  Somebody caller_;
  Health health_{{"test.Echo"}};
  Routes routes_;
  int calls_ = 0;
  std::vector<std::shared_ptr<const std::atomic<bool>>> waiting_;
};

}  // namespace coppice::grpc
