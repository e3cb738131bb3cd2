// `coppice conform expander` on an expander that is right and on ones that are wrong in one way.

#include "conform/expander.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>

#include "base/rng.h"
#include "base/strings.h"
#include "expander.pb.h"
#include "rpc/expander_messages.h"
#include "test/conform/in_process.h"

namespace coppice::conform {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ExpanderOptions Here() { return {.play = {.contract = "expander", .target = "here"}}; }

// Keeps the options with the fewest nodes, unless it is told to get something wrong.
class ModelExpander {
 public:
  explicit ModelExpander(Clock& clock, std::string wrong = "")
      : clock_(clock), wrong_(std::move(wrong)) {}

  grpc::Service Service() {
    return {.name = rpc::kExpanderService,
            .methods = {{.name = "BestOptions",
                         .handler = [this](const grpc::Call& call) { return Handle(call); },
                         .waits = true}}};
  }

 private:
  bool Is(std::string_view mistake) const { return wrong_ == mistake; }

  grpc::Answer Handle(const grpc::Call& call) {
    grpcplugin::BestOptionsRequest question;
    const bool read =
        question.ParseFromArray(call.request.data(), static_cast<int>(call.request.size()));
    if (!read && !Is("takes garbage")) return InvalidArgument("not a question");
    if (Is("one question at a time")) return Last(question);
    const std::lock_guard lock(mutex_);
    if (broken_) return Unavailable("broken");
    if (Is("breaks when a caller leaves") &&
        call.deadline.Left(clock_) < std::chrono::milliseconds(500)) {
      broken_ = true;
    }
    if (Is("small questions only") && call.request.size() > (size_t{4} << 20)) {
      return ResourceExhausted("received message larger than max");
    }
    if (Is("refuses unknown fields") && call.request.ends_with("\xC2\x3E\x01x")) {
      return InvalidArgument("a field that nobody knows");
    }
    if (Is("answers nothing")) return Internal("no");
    if (question.options().empty()) {
      if (Is("ends without options")) broken_ = true;
      return Is("chooses from nothing") ? Named({"anything"}) : Named({});
    }
    if (Is("wants two options") && question.options_size() < 2) return Internal("one is no choice");
    if (Is("needs templates") && question.nodebytesmap().empty() && question.nodemap().empty()) {
      return InvalidArgument("no templates");
    }
    if (Is("ends at a bad pod") || Is("needs pods")) {
      for (const auto& option : question.options()) {
        if (option.podbytes().empty() && option.pod().empty() && Is("needs pods")) {
          return InvalidArgument("no pods");
        }
        for (const std::string& pod : option.podbytes()) {
          broken_ = broken_ || (Is("ends at a bad pod") && pod.starts_with("\xFF"));
        }
      }
    }
    if (Is("old fields only") && question.nodemap().empty() && !question.nodebytesmap().empty()) {
      return Named({question.options(0).nodegroupid()});
    }
    if (Is("new fields only") && question.nodebytesmap().empty() && !question.nodemap().empty()) {
      return InvalidArgument("no templates");
    }
    return Choose(question);
  }

  grpc::Answer Choose(const grpcplugin::BestOptionsRequest& question) {
    const grpcplugin::Option* best = nullptr;
    for (const grpcplugin::Option& option : question.options()) {
      if (Is("counts from one on") && option.nodecount() < 1) return Internal("no nodes");
      if (best == nullptr || option.nodecount() < best->nodecount()) best = &option;
    }
    std::string id = best->nodegroupid();
    if (Is("ids in lower case")) id = Lower(id);
    if (Is("twice")) return Named({id, id});
    if (Is("picks among templates") && (question.nodebytesmap().contains("not-offered") ||
                                        question.nodemap().contains("not-offered"))) {
      return Named({"not-offered"});
    }
    if (Is("draws lots")) {
      const auto at = static_cast<int>(rng_.Below(static_cast<uint64_t>(question.options_size())));
      return Named({question.options(at).nodegroupid()});
    }
    return Named({id});
  }

  // Mixes up askers that come at the same time.
  grpc::Answer Last(const grpcplugin::BestOptionsRequest& question) {
    std::unique_lock lock(mutex_);
    const uint64_t ticket = ++tickets_;
    if (!question.options().empty()) last_ = question.options(0).nodegroupid();
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::milliseconds(50), [&] { return tickets_ != ticket; });
    return question.options().empty() ? Named({}) : Named({last_});
  }

  static grpc::Answer Named(const std::vector<std::string>& ids) {
    grpcplugin::BestOptionsResponse answer;
    for (const std::string& id : ids) answer.add_options()->set_nodegroupid(id);
    return answer.SerializeAsString();
  }

  Clock& clock_;
  const std::string wrong_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t tickets_ = 0;
  std::string last_;
  bool broken_ = false;
  SeededRng rng_{1};
};

TEST(ConformExpanderTest, ARightExpanderPassesEveryRule) {
  SystemClock clock;
  ModelExpander expander(clock);
  const Report report = TryExpander(Here(), InProcess(expander.Service()), clock);
  EXPECT_THAT(NamesOf(report, Verdict::kFailed), IsEmpty()) << ToText(report);
  EXPECT_THAT(NamesOf(report, Verdict::kNotApplicable), IsEmpty()) << ToText(report);
}

// The protocol does not ask for the same answer to the same question.
TEST(ConformExpanderTest, AnExpanderMayDrawLots) {
  SystemClock clock;
  ModelExpander expander(clock, "draws lots");
  const Report report = TryExpander(Here(), InProcess(expander.Service()), clock);
  EXPECT_THAT(NamesOf(report, Verdict::kFailed), IsEmpty()) << ToText(report);
}

struct WrongExpander {
  const char* mistake;
  const char* rule;
};

class WrongExpanderTest : public testing::TestWithParam<WrongExpander> {};

TEST_P(WrongExpanderTest, IsFoundByTheRuleThatIsMeant) {
  SystemClock clock;
  ModelExpander expander(clock, GetParam().mistake);
  const bool unknown = std::string_view(GetParam().mistake) == "any method is a method";
  const Report report = TryExpander(Here(), InProcess(expander.Service(), unknown), clock);
  EXPECT_THAT(NamesOf(report, Verdict::kFailed), ElementsAre(GetParam().rule)) << ToText(report);
  EXPECT_EQ(report.ExitCode(), 1);
}

constexpr WrongExpander kWrongExpanders[] = {
    {"answers nothing", "answers"},
    {"picks among templates", "offered-only"},
    {"twice", "no-duplicates"},
    {"wants two options", "one-option"},
    {"old fields only", "either-era"},
    {"new fields only", "either-era"},
    {"ids in lower case", "ids-as-sent"},
    {"needs templates", "without-templates"},
    {"needs pods", "without-pods"},
    {"counts from one on", "odd-counts"},
    {"small questions only", "large-question"},
    {"one question at a time", "parallel-questions"},
    {"refuses unknown fields", "unknown-fields"},
    {"any method is a method", "unknown-method"},
    {"breaks when a caller leaves", "short-deadlines"},
    {"ends at a bad pod", "unreadable-pod"},
    {"takes garbage", "garbage-request"},
    {"ends without options", "no-options"},
    {"chooses from nothing", "no-options"},
};

INSTANTIATE_TEST_SUITE_P(EachInOneWay, WrongExpanderTest, testing::ValuesIn(kWrongExpanders),
                         [](const auto& row) {
                           std::string name(row.param.mistake);
                           for (char& c : name) c = c == ' ' ? '_' : c;
                           return name;
                         });

TEST(ConformExpanderTest, EveryRuleIsBrokenBySomebody) {
  std::set<std::string_view> broken;
  for (const WrongExpander& wrong : kWrongExpanders) broken.insert(wrong.rule);
  for (const RuleText& rule : ExpanderRules()) EXPECT_TRUE(broken.contains(rule.name)) << rule.name;
}

}  // namespace
}  // namespace coppice::conform
