// `coppice conform cloud` on a cloud that is right and on ones that are wrong in one way.

#include "conform/cloud.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>

#include "cloud.pb.h"
#include "test/conform/in_process.h"

namespace coppice::conform {
namespace {

namespace wire_cloud = coppice::cloud::v1;

CloudOptions Small() {
  return {.play = {.contract = "cloud", .target = "here"},
          .timeout = std::chrono::seconds(5),
          .flavor = "small",
          .zone = "a",
          .image = "",
          .run = "this",
          .patience = Duration::zero()};
}

constexpr char kFirst[] = "coppice-conform-this-1";
constexpr char kSecond[] = "coppice-conform-this-2";

// Machines at once, one of somebody else, and a mistake if it is told one.
class ModelCloud {
 public:
  explicit ModelCloud(std::string wrong = "") : wrong_(std::move(wrong)) { AddStranger("other"); }
  // A machine that is there before anything is tried, of another run or of nobody.
  void AddStranger(const std::string& name, const std::string& run = "") {
    wire_cloud::Machine& machine = machines_["model://" + name];
    machine.set_id("model://" + name);
    machine.set_name(name);
    machine.set_state(wire_cloud::MACHINE_STATE_RUNNING);
    if (!run.empty()) (*machine.mutable_tags())["coppice-conform"] = run;
  }
  grpc::Service Service() {
    grpc::Service service{.name = "coppice.cloud.v1.Cloud", .methods = {}};
    for (const char* name : {"List", "Create", "Delete", "Flavors", "Validate"}) {
      service.methods.push_back({.name = name,
                                 .handler =
                                     [this, name](const grpc::Call& call) {
                                       const std::lock_guard lock(mutex_);
                                       return Answer(name, call.request);
                                     },
                                 .waits = true});
    }
    return service;
  }
  bool OtherIsThere() const { return IsThere("other"); }
  bool IsThere(const std::string& name) const { return machines_.contains("model://" + name); }
  size_t count() const { return machines_.size(); }

 private:
  bool Is(std::string_view mistake) const { return wrong_ == mistake; }

  grpc::Answer Answer(const std::string& method, std::string_view request) {
    if (Is("refuses unknown fields") && request.starts_with("\xC2\x3E"))
      return InvalidArgument("?");
    if (method == "Flavors") return Flavors();
    if (method == "Create") return Create(request);
    if (method == "Delete") return Delete(request);
    if (method == "Validate") return Unimplemented("no");
    wire_cloud::ListRequest question;
    if (!question.ParseFromString(std::string(request)) && !Is("takes garbage")) {
      return InvalidArgument("not a message");
    }
    if (Is("one list in five") && ++lists_ % 5 == 0 && question.tags().size() == 1 && settled_) {
      return Unavailable("busy");
    }
    wire_cloud::ListResponse answer;
    for (const auto& [id, machine] : machines_) {
      bool all = true;
      for (const auto& [key, value] : question.tags()) {
        const auto tag = machine.tags().find(key);
        all = all && tag != machine.tags().end() && tag->second == value;
      }
      if (Is("lists everything") && question.tags().at("coppice-conform") != "this") all = true;
      if (Is("never listed") && machine.name() == kFirst) all = false;
      if (all) *answer.add_machines() = machine;
    }
    return answer.SerializeAsString();
  }

  grpc::Answer Flavors() {
    if (Is("no flavors")) return Internal("no");
    wire_cloud::FlavorsResponse answer;
    wire_cloud::Flavor& flavor = *answer.add_flavors();
    flavor.set_name("small");
    flavor.set_cpu_millis(Is("a flavor without cpu") ? 0 : 2'000);
    flavor.set_memory_bytes(int64_t{4} << 30);
    flavor.set_price_per_hour(0.1);
    answer.set_id_prefix(Is("another prefix") ? "wrong://" : "model://");
    return answer.SerializeAsString();
  }

  grpc::Answer Create(std::string_view request) {
    wire_cloud::CreateRequest question;
    if (!question.ParseFromString(std::string(request))) return InvalidArgument("not a message");
    const wire_cloud::MachineSpec& spec = question.spec();
    if (spec.flavor() != "small") {
      return Is("wrong orders may be repeated") ? grpc::Answer(Unavailable("try again"))
                                                : grpc::Answer(InvalidArgument("no such flavor"));
    }
    wire_cloud::CreateResponse answer;
    const bool second = spec.name() == kSecond;
    for (const auto& [id, machine] : machines_) {
      if (machine.name() != spec.name()) continue;
      if (second ? Is("bought twice if in a hurry") : Is("bought twice")) break;
      *answer.mutable_machine() = machine;
      return answer.SerializeAsString();
    }
    const std::string id = "model://" + std::to_string(++made_);
    wire_cloud::Machine& machine = machines_[id];
    machine.set_id(id);
    machine.set_name(spec.name());
    machine.set_flavor(spec.flavor());
    *machine.mutable_tags() = spec.tags();
    machine.set_state(wire_cloud::MACHINE_STATE_RUNNING);
    *answer.mutable_machine() = machine;
    if (Is("no tags in the answer")) answer.mutable_machine()->clear_tags();
    return answer.SerializeAsString();
  }

  grpc::Answer Delete(std::string_view request) {
    wire_cloud::DeleteRequest question;
    if (!question.ParseFromString(std::string(request))) return InvalidArgument("not a message");
    const auto found = machines_.find(question.id());
    const bool was = question.id().ends_with("/1");
    if (found == machines_.end()) {
      if (Is("deletes anything") && !was) return grpc::Bytes();
      if (Is("deletes again") && was) return grpc::Bytes();
      return NotFound("no such machine");
    }
    if (Is("deletes nothing")) return grpc::Bytes();
    if (Is("deletes the first only") && !was) return Internal("tired");
    machines_.erase(found);
    settled_ = settled_ || !was;  // the last rules follow
    return grpc::Bytes();
  }

  const std::string wrong_;
  std::mutex mutex_;
  std::map<std::string, wire_cloud::Machine> machines_;
  int made_ = 0;
  int lists_ = 0;
  bool settled_ = false;
};

TEST(ConformCloudTest, ARightCloudPassesEveryRule) {
  SystemClock clock;
  ModelCloud cloud;
  const Report report = TryCloud(Small(), InProcess(cloud.Service()), clock);
  EXPECT_THAT(NamesOf(report, Verdict::kFailed), testing::IsEmpty()) << ToText(report);
  EXPECT_THAT(NamesOf(report, Verdict::kNotApplicable), testing::IsEmpty()) << ToText(report);
  EXPECT_EQ(cloud.count(), 1u) << "what was ordered is deleted again, and nothing else";
  EXPECT_TRUE(cloud.OtherIsThere());
}

// A name is what most clouds take for the order, so this is what a run meets that others came before.
TEST(ConformCloudTest, MachinesThatHaveItsNamesAndNotItsTagAreNotDeleted) {
  SystemClock clock;
  for (const char* run : {"", "another run"}) {
    ModelCloud cloud;
    for (const char* name : {"coppice-conform-1", "coppice-conform-2", kFirst, kSecond}) {
      cloud.AddStranger(name, run);
    }
    const size_t before = cloud.count();
    const Report report = TryCloud(Small(), InProcess(cloud.Service()), clock);
    EXPECT_EQ(cloud.count(), before) << ToText(report);
    EXPECT_TRUE(cloud.IsThere(kFirst)) << ToText(report);
    EXPECT_THAT(NamesOf(report, Verdict::kFailed), testing::Contains("create")) << ToText(report);
  }
}

TEST(ConformCloudTest, NamesAreOfTheRunSoThatAnEarlierOneIsInNobodysWay) {
  SystemClock clock;
  ModelCloud cloud;
  cloud.AddStranger("coppice-conform-1");
  cloud.AddStranger("coppice-conform-2", "an earlier run");
  cloud.AddStranger("coppice-conform-nobody");
  const Report report = TryCloud(Small(), InProcess(cloud.Service()), clock);
  EXPECT_THAT(NamesOf(report, Verdict::kFailed), testing::IsEmpty()) << ToText(report);
  EXPECT_EQ(cloud.count(), 4u) << ToText(report);
}

TEST(ConformCloudTest, WhatNoListShowsIsLeftAndNamed) {
  SystemClock clock;
  ModelCloud cloud("never listed");
  const std::string text = ToText(TryCloud(Small(), InProcess(cloud.Service()), clock));
  EXPECT_TRUE(cloud.IsThere("1")) << text;
  EXPECT_THAT(text, testing::HasSubstr("left behind, for no list by its tag shows it: model://1"));
}

struct WrongCloud {
  const char* mistake;
  const char* rule;
};
constexpr WrongCloud kWrongClouds[] = {
    {"no flavors", "flavors"},
    {"a flavor without cpu", "flavors-whole"},
    {"lists everything", "list-by-tag"},
    {"deletes anything", "delete-unknown"},
    {"wrong orders may be repeated", "order-of-unknown-flavor"},
    {"no tags in the answer", "create"},
    {"another prefix", "id-prefix"},
    {"never listed", "created-is-listed"},
    {"bought twice", "repeated-order"},
    {"deletes nothing", "delete"},
    {"deletes again", "delete-of-gone"},
    {"bought twice if in a hurry", "create-cut-short"},
    {"deletes the first only", "leaves-nothing"},
    {"one list in five", "parallel-lists"},
    {"refuses unknown fields", "unknown-fields"},
    {"any method is a method", "unknown-method"},
    {"takes garbage", "garbage-request"},
};

class WrongCloudTest : public testing::TestWithParam<WrongCloud> {};

TEST_P(WrongCloudTest, IsFoundByTheRuleThatIsMeant) {
  SystemClock clock;
  ModelCloud cloud(GetParam().mistake);
  const bool unknown = std::string_view(GetParam().mistake) == "any method is a method";
  const Report report = TryCloud(Small(), InProcess(cloud.Service(), unknown), clock);
  EXPECT_THAT(NamesOf(report, Verdict::kFailed), testing::ElementsAre(GetParam().rule))
      << ToText(report);
  EXPECT_TRUE(cloud.OtherIsThere());
}

INSTANTIATE_TEST_SUITE_P(EachInOneWay, WrongCloudTest, testing::ValuesIn(kWrongClouds),
                         [](const auto& row) {
                           std::string name(row.param.mistake);
                           for (char& c : name) c = c == ' ' ? '_' : c;
                           return name;
                         });

TEST(ConformCloudTest, EveryRuleIsBrokenBySomebody) {
  std::set<std::string_view> broken;
  for (const WrongCloud& wrong : kWrongClouds) broken.insert(wrong.rule);
  for (const RuleText& rule : CloudRules()) EXPECT_TRUE(broken.contains(rule.name)) << rule.name;
}

}  // namespace
}  // namespace coppice::conform
