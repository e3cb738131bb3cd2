// A machine that comes under the name of one that went is a new one.

#include "test/support/engine_rig.h"

namespace coppice::autoscale {
namespace {

using std::chrono::minutes;

class SameNameTest : public test::EngineRig {
 protected:
  void SetNode(const std::string& uid) {
    model::Node node = test::ANode("web-1", "zone-web", clock_.Now() - std::chrono::hours(1));
    node.metadata.uid = uid;
    world_.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
  }
  void Start(std::vector<std::string> args) {
    AddGroup("web", 5, 1);
    AddNode("web-1", "web");
    SetNode("first");
    args.insert(args.end(), {"--scale-down-unneeded-time=10m", "--scale-down-delay-after-add=0s"});
    Assemble(std::move(args), inline_, writer_);
    Pass();
  }
  report::ScaleDownResult PassAfter(Duration time) {
    clock_.Advance(time);
    return Pass()->scale_down.result;
  }
};

TEST_F(SameNameTest, ItsTimeBeginsAnew) {
  Start({});
  EXPECT_EQ(PassAfter(minutes(6)), report::ScaleDownResult::kNoNodeDeleted);
  SetNode("second");
  EXPECT_EQ(PassAfter(minutes(6)), report::ScaleDownResult::kNoNodeDeleted);
  EXPECT_EQ(PassAfter(minutes(11)), report::ScaleDownResult::kNodeDeleteStarted);
}

TEST_F(SameNameTest, UpstreamGoesByTheName) {
  Start({"--upstream-exact"});
  EXPECT_EQ(PassAfter(minutes(6)), report::ScaleDownResult::kNoNodeDeleted);
  SetNode("second");
  EXPECT_EQ(PassAfter(minutes(6)), report::ScaleDownResult::kNodeDeleteStarted);
}

}  // namespace
}  // namespace coppice::autoscale
