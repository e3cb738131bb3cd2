// `coppice conform extender` on an extender that is right and on ones that are wrong in one way.

#include "conform/extender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>

#include "conform/volcano_objects.h"
#include "test/conform/in_process.h"

namespace coppice::conform {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ExtenderOptions At(std::string prefix = "http://here/") {
  return {.play = {.contract = "extender", .target = "here"},
          .url_prefix = std::move(prefix),
          .timeout = std::chrono::seconds(5),
          .verbs = {},
          .session_bytes = size_t{256} << 10};
}

// Keeps best-effort tasks off crowded nodes and permits the rest, unless it is told to get
// something wrong.
class ModelExtender final : public net::HttpClient {
 public:
  explicit ModelExtender(Clock& clock, std::string wrong = "")
      : clock_(clock), wrong_(std::move(wrong)) {}

  Result<net::HttpResponse> Send(const net::HttpRequest& request, Deadline deadline) override {
    const std::string verb = request.url.substr(std::string("http://here/").size());
    net::HttpResponse answer;
    if (Is("one predicate at a time") && verb == "predicate") {
      if (!Alone()) return net::HttpResponse{.status = 503};
      answer = Handle(verb, request.body, deadline);
      const std::lock_guard lock(alone_);
      --in_flight_;
      return answer;
    }
    const std::lock_guard lock(mutex_);
    if (broken_) return Unavailable("connection refused");
    answer = Handle(verb, request.body, deadline);
    if (Is("closes connections")) answer.headers.emplace_back("connection", "close");
    return answer;
  }

 private:
  bool Is(std::string_view mistake) const { return wrong_ == mistake; }

  bool Alone() {
    std::unique_lock lock(alone_);
    ++in_flight_;
    came_.notify_all();
    if (!came_.wait_for(lock, std::chrono::milliseconds(30), [&] { return in_flight_ > 1; })) {
      return true;
    }
    --in_flight_;
    return false;
  }

  static net::HttpResponse Ok(const Json& body) { return {.status = 200, .body = body.dump()}; }
  static net::HttpResponse Bad() { return {.status = 400, .body = "no"}; }

  net::HttpResponse Handle(const std::string& verb, const std::string& body, Deadline deadline) {
    if (Is("nothing there")) return {.status = 404};
    if (Is("breaks when a caller leaves") && verb == "predicate" &&
        deadline.Left(clock_) < std::chrono::milliseconds(500)) {
      broken_ = true;
    }
    if (Is("small bodies only") && body.size() > (size_t{200} << 10)) return {.status = 413};
    const Json read = Json::parse(body, nullptr, false);
    if (read.is_discarded()) return Is("takes anything") ? Ok(Json::object()) : Bad();
    if (Is("knows every key") && body.find("OfALaterVersion") != std::string::npos) return Bad();
    if (Is("wants times") && body.find("\"creationTimestamp\":null") != std::string::npos) {
      return Bad();
    }
    if (verb == "onSessionOpen") {
      if (Is("no session")) return {.status = 500};
      if (Is("one session at a time") && open_ == 2) return {.status = 409};
      // The first one is the probe's look whether the verb is there.
      open_ = std::min(open_ + 1, 2);
      return {.status = Is("no session, politely") ? 204 : 200};
    }
    if (verb == "onSessionClose") {
      open_ = 0;
      return {.status = Is("does not close") && body == "{}" ? 500 : 200};
    }
    return Decide(verb, read);
  }

  net::HttpResponse Decide(const std::string& verb, const Json& body) {
    if (verb == "predicate") return Predicate(body.at("task"), body.at("node"));
    if (verb == "batchPredicate" || verb == "prioritize") return OfNodes(verb, body);
    if (verb == "preemptable" || verb == "reclaimable") return Victims(body);
    if (verb == "queueOverused")
      return Ok({{"overused", Is("overused as text") ? Json("no") : Json(false)}});
    if (verb == "jobEnqueueable") {
      return Ok({{"status", Is("vote as flag")  ? Json(true)
                            : Is("vote of two") ? Json(2)
                                                : Json(1)}});
    }
    if (verb == "jobEnqueued")
      return Is("enqueued without a word") ? net::HttpResponse{.status = 200} : Ok(Json::object());
    if (verb == "jobReady") return Ok({{"status", Is("ready as number") ? Json(1) : Json(true)}});
    if (verb == "allocateFunc" || verb == "deallocateFunc") {
      return Ok({{"errorMessage", Is("placement as flag") ? Json(false) : Json("")}});
    }
    return Is("any verb is a verb") ? Ok(Json::object()) : net::HttpResponse{.status = 404};
  }

  static bool Crowded(const Json& task, const Json& node) {
    return task.at("BestEffort").get<bool>() && node.at("Tasks").size() > 10;
  }

  net::HttpResponse Predicate(const Json& task, const Json& node) {
    if (Is("needs a session") && open_ == 0) return {.status = 500};
    if (Is("status as number")) return Ok({{"status", 0}, {"code", 0}});
    return Ok(Crowded(task, node) ? Refusal() : Json{{"Status", ""}, {"Code", 0}});  // Go reads it
  }

  Json Refusal() const {
    if (Is("no without a word")) return {{"status", ""}, {"code", 2}};
    if (Is("no without a code")) return {{"status", "crowded"}, {"code", 0}};
    if (Is("no with an odd code")) return {{"status", "crowded"}, {"code", 7}};
    return {{"Status", "crowded"}, {"Code", 2}};
  }

  net::HttpResponse OfNodes(const std::string& verb, const Json& body) {
    Json statuses = Json::object();
    Json scores = Json::object();
    for (const Json& node : body.at("nodes")) {
      const auto name = node.at("Name").get<std::string>();
      scores[name] = Is("scores as text") ? Json("1") : Json(1.5);
      if (Crowded(body.at("task"), node) && !Is("batch is kinder")) {
        statuses[name] = Refusal();
      }
    }
    if (verb == "batchPredicate") return Ok({{"nodeStatus", statuses}, {"errorMessage", ""}});
    if (Is("scores for strangers")) scores["stranger"] = 1;
    if (Is("no scores")) return Ok({{"errorMessage", ""}});
    return Ok({{"nodeScore", scores}, {"errorMessage", ""}});
  }

  net::HttpResponse Victims(const Json& body) {
    const Json& evictees = body.at("evictees");
    if (evictees.is_null() && Is("wants evictees")) return Bad();
    Json victims = evictees.is_null() ? Json::array() : evictees;
    if (Is("a victim too many") && !victims.empty()) {
      Json other = victims[0];
      other["UID"] = "uid-somebody";
      victims.push_back(other);
    }
    if (Is("victims by uid")) {
      for (Json& victim : victims) victim = {{"UID", victim.at("UID")}};
    }
    return Ok(
        {{"status", Is("victims' status as flag") ? Json(true) : Json(1)}, {"victims", victims}});
  }

  Clock& clock_;
  const std::string wrong_;
  std::mutex mutex_;
  std::mutex alone_;
  std::condition_variable came_;
  int in_flight_ = 0;
  int open_ = 0;
  bool broken_ = false;
};

TEST(ConformExtenderTest, ARightExtenderPassesEveryRule) {
  SystemClock clock;
  ModelExtender extender(clock);
  const Report report = TryExtender(At(), extender, clock);
  EXPECT_THAT(NamesOf(report, Verdict::kFailed), IsEmpty()) << ToText(report);
  EXPECT_THAT(NamesOf(report, Verdict::kNotApplicable), IsEmpty()) << ToText(report);
}

TEST(ConformExtenderTest, AVerbThatIsNotThereDoesNotApply) {
  SystemClock clock;
  ModelExtender extender(clock);
  ExtenderOptions options = At();
  options.verbs = {{"preemptable", "absent"}, {"reclaimable", ""}};
  const Report report = TryExtender(options, extender, clock);
  EXPECT_THAT(NamesOf(report, Verdict::kFailed), IsEmpty()) << ToText(report);
  EXPECT_THAT(NamesOf(report, Verdict::kNotApplicable),
              ElementsAre("victims", "victims-offered", "victims-whole", "victims-of-nobody"));
}

struct WrongExtender {
  const char* mistake;
  const char* rule;
};

class WrongExtenderTest : public testing::TestWithParam<WrongExtender> {};

TEST_P(WrongExtenderTest, IsFoundByTheRuleThatIsMeant) {
  SystemClock clock;
  ModelExtender extender(clock, GetParam().mistake);
  const Report report = TryExtender(At(), extender, clock);
  EXPECT_THAT(NamesOf(report, Verdict::kFailed), ElementsAre(GetParam().rule)) << ToText(report);
  EXPECT_EQ(report.ExitCode(), 1);
}

constexpr WrongExtender kWrongExtenders[] = {
    {"nothing there", "verbs"},
    {"no session", "session-open"},
    {"no session, politely", "session-open"},
    {"status as number", "predicate"},
    {"no without a word", "predicate-says-why"},
    {"no without a code", "predicate-says-why"},
    {"no with an odd code", "predicate-says-why"},
    {"batch is kinder", "batch-predicate"},
    {"scores as text", "prioritize"},
    {"no scores", "prioritize"},
    {"scores for strangers", "prioritize-names"},
    {"victims' status as flag", "victims"},
    {"a victim too many", "victims-offered"},
    {"victims by uid", "victims-whole"},
    {"wants evictees", "victims-of-nobody"},
    {"overused as text", "queue-overused"},
    {"vote as flag", "job-enqueueable"},
    {"vote of two", "job-enqueueable"},
    {"enqueued without a word", "job-enqueued"},
    {"ready as number", "job-ready"},
    {"placement as flag", "placements"},
    {"one session at a time", "session-open-again"},
    {"small bodies only", "large-session"},
    {"one predicate at a time", "parallel-predicates"},
    {"closes connections", "keep-alive"},
    {"knows every key", "unknown-keys"},
    {"wants times", "null-times"},
    {"any verb is a verb", "unknown-verb"},
    {"takes anything", "no-json"},
    {"breaks when a caller leaves", "early-leaver"},
    {"does not close", "session-close"},
    {"needs a session", "without-session"},
};

INSTANTIATE_TEST_SUITE_P(EachInOneWay, WrongExtenderTest, testing::ValuesIn(kWrongExtenders),
                         [](const auto& row) {
                           std::string name(row.param.mistake);
                           std::erase(name, '\'');
                           std::erase(name, ',');
                           for (char& c : name) c = c == ' ' ? '_' : c;
                           return name;
                         });

TEST(ConformExtenderTest, EveryRuleIsBrokenBySomebody) {
  std::set<std::string_view> broken;
  for (const WrongExtender& wrong : kWrongExtenders) broken.insert(wrong.rule);
  for (const RuleText& rule : ExtenderRules()) EXPECT_TRUE(broken.contains(rule.name)) << rule.name;
}

}  // namespace
}  // namespace coppice::conform
