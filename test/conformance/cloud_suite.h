// What any Cloud must do. A plug-in's test says how to make one, and gets these tests:
//
//   struct MyCloudUnderTest {
//     cloud::Cloud& cloud();
//     Clock& clock();
//     cloud::MachineSpec ASpec(const std::string& name);  // an order that the cloud accepts
//     ProviderId AnUnknownId();    // well-formed, of no machine
//     void Settle();               // time passes until lists show everything and machines are up
//   };
//     // Only if the cloud cannot be asked for a name, and a repeated order may be bought twice:
//     static constexpr bool kCallerLooks = true;
//   INSTANTIATE_TYPED_TEST_SUITE_P(MyCloud, CloudSuite, MyCloudUnderTest);
//
// (within namespace coppice::conformance). A fresh object per test.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "cloud/cloud.h"
#include "test/support/must.h"

namespace coppice::conformance {

template <class UnderTest>
class CloudSuite : public testing::Test {
 protected:
  cloud::Cloud& cloud() { return under_test_.cloud(); }
  Deadline Soon() { return Deadline::In(under_test_.clock(), std::chrono::seconds(30)); }
  cloud::MachineSpec Spec(const std::string& name, const std::string& group = "workers") {
    cloud::MachineSpec spec = under_test_.ASpec(name);
    spec.tags[cloud::kGroupTag] = group;
    spec.tags[cloud::kClusterTag] = "conformance";
    return spec;
  }
  std::vector<cloud::Machine> Listed(const cloud::Tags& tags) {
    return MUST(cloud().List(tags, Soon()));
  }
  static std::vector<std::string> Names(const std::vector<cloud::Machine>& machines) {
    std::vector<std::string> names;
    for (const auto& machine : machines) names.push_back(machine.name);
    std::ranges::sort(names);
    return names;
  }

  static constexpr bool kCallerLooks = [] {
    if constexpr (requires { UnderTest::kCallerLooks; }) return UnderTest::kCallerLooks;
    return false;
  }();
  UnderTest under_test_;
};
TYPED_TEST_SUITE_P(CloudSuite);

TYPED_TEST_P(CloudSuite, ListsNothingBeforeAnythingIsCreated) {
  EXPECT_THAT(this->Listed({{cloud::kClusterTag, "conformance"}}), testing::IsEmpty());
}

TYPED_TEST_P(CloudSuite, CreateAnswersWithIdNameAndTagsOfTheOrder) {
  const auto spec = this->Spec("workers-00000001");
  const auto machine = MUST(this->cloud().Create(spec, this->Soon()));
  EXPECT_FALSE(machine.id.empty());
  EXPECT_TRUE(this->cloud().OwnsId(machine.id)) << machine.id;
  EXPECT_EQ(machine.name, spec.name);
  EXPECT_EQ(machine.flavor, spec.flavor);
  for (const auto& [key, value] : spec.tags) {
    ASSERT_TRUE(machine.tags.contains(key)) << key;
    EXPECT_EQ(machine.tags.at(key), value);
  }
}

TYPED_TEST_P(CloudSuite, ListShowsWhatWasCreatedWithTheSameIdAndTags) {
  const auto machine = MUST(this->cloud().Create(this->Spec("workers-00000001"), this->Soon()));
  this->under_test_.Settle();
  const auto listed = this->Listed({{cloud::kClusterTag, "conformance"}});
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].id, machine.id);
  EXPECT_EQ(listed[0].name, machine.name);
  EXPECT_EQ(listed[0].flavor, machine.flavor);
  EXPECT_EQ(listed[0].tags, machine.tags);
  EXPECT_EQ(listed[0].state, cloud::MachineState::kRunning);
}

TYPED_TEST_P(CloudSuite, ListFiltersByAllTags) {
  (void)MUST(this->cloud().Create(this->Spec("workers-00000001", "workers"), this->Soon()));
  (void)MUST(this->cloud().Create(this->Spec("others-00000001", "others"), this->Soon()));
  this->under_test_.Settle();
  const cloud::Tags both = {{cloud::kClusterTag, "conformance"}, {cloud::kGroupTag, "workers"}};
  EXPECT_THAT(this->Names(this->Listed(both)), testing::ElementsAre("workers-00000001"));
  EXPECT_THAT(this->Listed({{cloud::kClusterTag, "another"}}), testing::IsEmpty());
}

TYPED_TEST_P(CloudSuite, ManyMachinesHaveDifferentIdsAndAreAllListed) {
  std::set<std::string> ids;
  for (int i = 0; i < 25; ++i) {
    const auto spec = this->Spec("workers-" + std::to_string(10'000'000 + i));
    ids.insert(MUST(this->cloud().Create(spec, this->Soon())).id);
  }
  this->under_test_.Settle();
  std::set<std::string> listed;
  for (const auto& machine : this->Listed({{cloud::kClusterTag, "conformance"}})) {
    listed.insert(machine.id);
  }
  EXPECT_EQ(ids.size(), 25u);
  EXPECT_EQ(listed, ids);
}

TYPED_TEST_P(CloudSuite, DeleteEndsOneMachineAndLeavesTheOthers) {
  const auto first = MUST(this->cloud().Create(this->Spec("workers-00000001"), this->Soon()));
  (void)MUST(this->cloud().Create(this->Spec("workers-00000002"), this->Soon()));
  this->under_test_.Settle();
  EXPECT_OK(this->cloud().Delete(first.id, this->Soon()));
  this->under_test_.Settle();
  EXPECT_THAT(this->Names(this->Listed({{cloud::kClusterTag, "conformance"}})),
              testing::ElementsAre("workers-00000002"));
}

TYPED_TEST_P(CloudSuite, DeletingWhatIsGoneIsNotFound) {
  const auto machine = MUST(this->cloud().Create(this->Spec("workers-00000001"), this->Soon()));
  this->under_test_.Settle();
  EXPECT_OK(this->cloud().Delete(machine.id, this->Soon()));
  this->under_test_.Settle();
  EXPECT_EQ(this->cloud().Delete(machine.id, this->Soon()).code(), Code::kNotFound);
  EXPECT_EQ(this->cloud().Delete(this->under_test_.AnUnknownId(), this->Soon()).code(),
            Code::kNotFound);
}

TYPED_TEST_P(CloudSuite, AnUnknownFlavorIsTheOrdersFault) {
  auto spec = this->Spec("workers-00000001");
  spec.flavor = "no-such-flavor";
  const auto result = this->cloud().Create(spec, this->Soon());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.code(), Code::kInvalidArgument) << result.status();
  this->under_test_.Settle();
  EXPECT_THAT(this->Listed({{cloud::kClusterTag, "conformance"}}), testing::IsEmpty());
}

TYPED_TEST_P(CloudSuite, FlavorsAreCompleteAndContainWhatCanBeOrdered) {
  const auto flavors = MUST(this->cloud().Flavors(this->Soon()));
  const auto spec = this->Spec("workers-00000001");
  bool found = false;
  std::set<std::string> names;
  for (const auto& flavor : flavors) {
    EXPECT_TRUE(names.insert(flavor.name).second) << flavor.name << " twice";
    EXPECT_GT(flavor.cpu_millis, 0) << flavor.name;
    EXPECT_GT(flavor.memory_bytes, 0) << flavor.name;
    EXPECT_FALSE(flavor.architecture.empty()) << flavor.name;
    EXPECT_EQ(flavor.gpu_count > 0, !flavor.gpu_type.empty()) << flavor.name;
    found = found || flavor.name == spec.flavor;
  }
  EXPECT_TRUE(found) << spec.flavor;
}

TYPED_TEST_P(CloudSuite, MalformedIdsAreNotOurs) {
  for (const char* id : {"", "x", "://", "cloud", "aws:///eu-west-1a/i-0123456789abcdef0"}) {
    EXPECT_FALSE(this->cloud().OwnsId(id)) << id;
  }
}

// An order whose answer was lost is repeated under its name, at once or after a restart.
TYPED_TEST_P(CloudSuite, ARepeatedOrderIsBoughtOnce) {
  const auto spec = this->Spec("workers-00000001");
  const auto first = MUST(this->cloud().Create(spec, this->Soon()));
  size_t bought = 1;
  for (const bool settled : {false, true}) {
    if (settled) this->under_test_.Settle();
    const auto again = this->cloud().Create(spec, this->Soon());
    if (this->kCallerLooks && again.ok() && again->id != first.id) {
      ++bought;  // the caller's list has to show it, below
      continue;
    }
    EXPECT_TRUE(again.ok() ? again->id == first.id : again.code() == Code::kAlreadyExists)
        << "two machines for one name, or no word about the one that is there: "
        << (again.ok() ? again->id : again.status().ToString());
  }
  this->under_test_.Settle();
  EXPECT_EQ(this->Names(this->Listed({{cloud::kClusterTag, "conformance"}})),
            std::vector<std::string>(bought, spec.name))
      << "whoever looks for the name in a list has to find all of it";
}

TYPED_TEST_P(CloudSuite, TheNameOfAMachineThatIsGoneIsFreeAgain) {
  const auto spec = this->Spec("workers-00000001");
  const auto first = MUST(this->cloud().Create(spec, this->Soon()));
  this->under_test_.Settle();
  EXPECT_OK(this->cloud().Delete(first.id, this->Soon()));
  this->under_test_.Settle();
  const auto second = MUST(this->cloud().Create(spec, this->Soon()));
  EXPECT_NE(second.id, first.id);
  this->under_test_.Settle();
  EXPECT_EQ(this->Listed({{cloud::kClusterTag, "conformance"}}).size(), 1u);
}

TYPED_TEST_P(CloudSuite, ValidateTakesWhatCanBeOrderedAndRefusesAnUnknownFlavor) {
  const auto spec = this->Spec("workers-00000001");
  cloud::GroupConfig group{.name = "workers",
                           .flavor = spec.flavor,
                           .image = spec.image,
                           .zone = spec.zone,
                           .volume_size_gb = spec.disk_bytes >> 30};
  EXPECT_THAT(MUST(this->cloud().Validate(group, this->Soon())), testing::IsEmpty());
  group.flavor = "no-such-flavor";
  const auto mistakes = MUST(this->cloud().Validate(group, this->Soon()));
  ASSERT_EQ(mistakes.size(), 1u);
  EXPECT_THAT(mistakes[0], testing::HasSubstr("no-such-flavor"));
}

REGISTER_TYPED_TEST_SUITE_P(CloudSuite, ListsNothingBeforeAnythingIsCreated,
                            CreateAnswersWithIdNameAndTagsOfTheOrder,
                            ListShowsWhatWasCreatedWithTheSameIdAndTags, ListFiltersByAllTags,
                            ManyMachinesHaveDifferentIdsAndAreAllListed,
                            DeleteEndsOneMachineAndLeavesTheOthers, DeletingWhatIsGoneIsNotFound,
                            AnUnknownFlavorIsTheOrdersFault,
                            FlavorsAreCompleteAndContainWhatCanBeOrdered, MalformedIdsAreNotOurs,
                            ARepeatedOrderIsBoughtOnce, TheNameOfAMachineThatIsGoneIsFreeAgain,
                            ValidateTakesWhatCanBeOrderedAndRefusesAnUnknownFlavor);

}  // namespace coppice::conformance
