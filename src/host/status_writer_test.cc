#include "host/status_writer.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "kube/test_rig.h"

namespace coppice::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kMaps[] = "/api/v1/configmaps";

class StatusWriterTest : public testing::Test {
 protected:
  nlohmann::json Stored() { return rig_.server.Get(kMaps, "status", "kube-system"); }
  void Finish() {
    EXPECT_TRUE(rig_.Until([this] { return !status_.writing(); }));
  }
  // What the server was asked to store, in order.
  std::vector<std::string> Written() {
    std::vector<std::string> texts;
    for (const auto& request : rig_.server.seen()) {
      if (request.method == "GET") continue;
      texts.push_back(nlohmann::json::parse(request.body)["data"]["status"].get<std::string>());
    }
    return texts;
  }

  kube::TestRig rig_;
  std::string logged_;
  const Log log_{rig_.clock, [this](std::string_view line) { logged_ += line; }, LogFormat::kText};
  kube::EventSender events_{*rig_.client, rig_.log, kube::RateLimit(rig_.executor, 0, 1), false};
  kube::KubeWriter writer_{
      *rig_.client, events_,
      kube::Fence{.may_write = [] { return Status::Ok(); }, .within = nullptr}};
  StatusWriter status_{writer_, rig_.executor, log_, "kube-system", "status"};
};

TEST_F(StatusWriterTest, WritesTheTextWithWhatTheNextProcessIsToKnow) {
  EXPECT_EQ(status_.last(), "");
  EXPECT_FALSE(status_.writing());
  status_.Put("all is well", {{"memory", "of mine"}});
  EXPECT_TRUE(status_.writing());
  EXPECT_EQ(status_.last(), "all is well") << "it will be";
  Finish();
  EXPECT_EQ(Stored()["data"]["status"], "all is well");
  EXPECT_EQ(Stored()["metadata"]["annotations"]["memory"], "of mine");
  EXPECT_THAT(logged_, IsEmpty());
}

TEST_F(StatusWriterTest, OfWhatComesDuringAWriteTheLastIsWritten) {
  rig_.server.HoldAnswers("/configmaps");
  status_.Put("first", {});
  ASSERT_TRUE(rig_.Until([this] { return rig_.server.held() == 1; }));
  status_.Put("overtaken", {{"memory", "old"}});
  status_.Put("last", {{"memory", "new"}});
  EXPECT_EQ(rig_.server.held(), 1U) << "one at a time";
  rig_.server.LetGo();
  Finish();
  EXPECT_THAT(Written(), ElementsAre("first", "last"));
  EXPECT_EQ(Stored()["metadata"]["annotations"]["memory"], "new");
  EXPECT_EQ(status_.last(), "last");
}

TEST_F(StatusWriterTest, AWriteThatFailsIsToldAndTheNextIsTried) {
  rig_.server.Refuse({.method = "POST", .path = "/api/v1", .status = 403, .body = "{}"});
  status_.Put("refused", {});
  Finish();
  EXPECT_TRUE(Stored().is_null());
  EXPECT_THAT(logged_, HasSubstr("the status ConfigMap could not be written"));
  status_.Put("second", {});
  Finish();
  EXPECT_EQ(Stored()["data"]["status"], "second");
}

}  // namespace
}  // namespace coppice::host
