#include "conform/extender.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/strings.h"
#include "conform/extender_probe.h"

namespace coppice::conform {
namespace {

constexpr char kTheVerbs[] = "docs/extending/extender.md#2-the-verbs";
constexpr char kWhenItFails[] = "docs/extending/extender.md#3-when-it-fails";
constexpr char kFast[] = "docs/extending/extender.md#4-when-it-has-to-be-fast";

constexpr const char* kVerbs[] = {
    "onSessionOpen", "predicate",      "batchPredicate", "prioritize",  "preemptable",
    "reclaimable",   "queueOverused",  "jobEnqueueable", "jobEnqueued", "jobReady",
    "allocateFunc",  "deallocateFunc", "onSessionClose"};

constexpr Rule<ExtenderProbe> kExtenderRules[] = {
    {"verbs", "at least one verb is answered", kTheVerbs, HasVerbs},
    {"session-open", "onSessionOpen takes a cluster and answers 200", kTheVerbs, SessionOpens},
    {"predicate", "predicate answers {\"status\": text, \"code\": number}", kTheVerbs,
     PredicateAnswer},
    {"predicate-says-why", "a no has a reason and a code of 1 to 5, a yes has neither", kTheVerbs,
     PredicateSaysWhy},
    {"batch-predicate", "batchPredicate says of each node what predicate says", kFast, BatchAgrees},
    {"prioritize", "prioritize answers {\"nodeScore\": {name: number}, \"errorMessage\": text}",
     kTheVerbs, PrioritizeAnswer},
    {"prioritize-names", "only nodes that were sent have a score", kTheVerbs, PrioritizeNames},
    {"victims", "preemptable and reclaimable answer {\"status\": number, \"victims\": [task]}",
     kTheVerbs, VictimsAnswer},
    {"victims-offered", "only evictees that were sent are victims", kTheVerbs, VictimsOffered},
    {"victims-whole", "a victim is the task as it was sent, for Volcano evicts by what comes back",
     kTheVerbs, VictimsWhole},
    {"victims-of-nobody", "evictees may be null", kTheVerbs, VictimsOfNobody},
    {"queue-overused", "queueOverused answers {\"overused\": true or false}", kTheVerbs,
     QueueOverused},
    {"job-enqueueable", "jobEnqueueable answers {\"status\": 1, 0 or -1}", kTheVerbs,
     JobEnqueueable},
    {"job-enqueued", "jobEnqueued answers a JSON object", kTheVerbs, JobEnqueued},
    {"job-ready", "jobReady answers {\"status\": true or false}", kTheVerbs, JobReady},
    {"placements", "allocateFunc and deallocateFunc answer {\"errorMessage\": text}", kTheVerbs,
     PlacementEvents},
    {"session-open-again", "a session may be opened that was never closed", kWhenItFails,
     SessionOpensAgain},
    {"large-session", "16 MiB of cluster are taken", kTheVerbs, LargeSession},
    {"parallel-predicates", "sixteen predicates at once are answered as one by one", kFast,
     ParallelPredicates},
    {"keep-alive", "the connection stays open", kFast, KeepsConnections},
    {"unknown-keys", "keys that you do not know are no error", kTheVerbs, UnknownKeys},
    {"null-times", "a creationTimestamp may be null", kTheVerbs, NullTimes},
    {"unknown-verb", "a verb that you do not have is not 200", kTheVerbs, UnknownVerb},
    {"no-json", "a body that is not JSON is not 200", kWhenItFails, NoJson},
    {"early-leaver", "a caller that leaves early changes nothing for the next one", kWhenItFails,
     EarlyLeaver},
    {"session-close", "onSessionClose takes {} and answers 200", kTheVerbs, SessionCloses},
    {"without-session", "a question may come without a session", kWhenItFails, WithoutSession},
};

}  // namespace

const Json* GoMember(const Json& object, std::string_view name) {
  const Json* found = nullptr;
  if (!object.is_object()) return found;
  for (const auto& [key, value] : object.items()) {
    if (Lower(key) == Lower(name)) found = &value;
  }
  return found != nullptr && found->is_null() ? nullptr : found;
}

Json BodyOf(const std::string& verb) {
  const Json task = TaskObject({.name = "pending"});
  if (verb == "onSessionOpen") {
    return SessionObject({NodeObject("n1", 0), NodeObject("n2", 2)}, {JobObject("job", 2)});
  }
  if (verb == "predicate") return {{"task", task}, {"node", NodeObject("n1", 0)}};
  if (verb == "prioritize" || verb == "batchPredicate") {
    return {{"task", task}, {"nodes", Json::array({NodeObject("n1", 0), NodeObject("n2", 12)})}};
  }
  if (verb == "preemptable" || verb == "reclaimable") {
    return {{"evictor", task},
            {"evictees", Json::array({TaskObject({.name = "running-0", .node = "n1"}),
                                      TaskObject({.name = "running-1", .node = "n1"})})}};
  }
  if (verb == "queueOverused") return {{"queue", QueueObject("default")}};
  if (verb.starts_with("job")) return {{"job", JobObject("job", 2)}};
  if (verb == "allocateFunc" || verb == "deallocateFunc") return {{"task", task}};
  return Json::object();
}

Result<net::HttpResponse> ExtenderProbe::Send(const std::string& verb, const std::string& body,
                                              Duration within) const {
  const auto renamed = options.verbs.find(verb);
  std::string prefix = options.url_prefix;
  while (prefix.ends_with('/')) prefix.pop_back();
  return client_.Send(
      {.method = "POST",
       .url = prefix + "/" + (renamed == options.verbs.end() ? verb : renamed->second),
       .headers = {{"Content-Type", "application/json"}},
       .bearer_token = options.token,
       .body = body},
      Deadline::In(clock_, within));
}

Status ExtenderProbe::Alive() const {
  return Send("onSessionClose", "{}").status();  // whatever the answer, there is one
}

Result<Json> ExtenderProbe::Ask(const std::string& verb, const Json& body) const {
  const auto answer = Send(verb, body.dump());
  if (!answer.ok()) return answer.status();
  if (answer->status != 200) {
    return FailedPrecondition(
        fmt::format("status {} instead of 200: {}", answer->status, answer->body.substr(0, 200)));
  }
  Json value = Json::parse(answer->body, nullptr, false);
  if (value.is_discarded() || !value.is_object()) {
    return Status(Code::kDataLoss, "the body is not a JSON object: " + answer->body.substr(0, 200));
  }
  return value;
}

std::optional<Outcome> ExtenderProbe::Lacks(const std::string& verb) {
  auto [known, first] = lacks_.try_emplace(verb);
  if (first) {
    const auto renamed = options.verbs.find(verb);
    if (renamed != options.verbs.end() && renamed->second.empty()) {
      known->second = verb + " is left out";
    } else {
      const auto answer = Send(verb, BodyOf(verb).dump());
      const bool none =
          answer.ok() && (answer->status == 404 || answer->status == 405 || answer->status == 501);
      if (none) {
        known->second =
            fmt::format("there is no {} (status {}): do not configure it", verb, answer->status);
      }
    }
  }
  if (!known->second) return std::nullopt;
  return NotApplicable(*known->second);
}

std::vector<RuleText> ExtenderRules() {
  return TextsOf(std::span<const Rule<ExtenderProbe>>(kExtenderRules));
}

std::vector<std::string> ExtenderVerbs() { return {std::begin(kVerbs), std::end(kVerbs)}; }

Report TryExtender(const ExtenderOptions& options, net::HttpClient& client, Clock& clock) {
  ExtenderProbe probe(options, client, clock);
  return Play(std::span<const Rule<ExtenderProbe>>(kExtenderRules), probe, options.play, clock);
}

}  // namespace coppice::conform
