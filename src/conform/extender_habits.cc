// What schedulers bring along: sessions that were never closed, many questions at once, keys of
// other versions, nonsense.

#include <fmt/format.h>

#include "base/mutex.h"
#include "base/strings.h"
#include "conform/calls.h"
#include "conform/extender_probe.h"

namespace coppice::conform {
namespace {

constexpr size_t kPredicatesAtOnce = 16;  // Volcano's node filter has as many workers
constexpr size_t kTaskBytes = 64 << 10;

// A verb that the server has and that reads its body, or none.
std::string SomeVerb(ExtenderProbe& probe) {
  for (const std::string& verb : ExtenderVerbs()) {
    if (!verb.starts_with("onSession") && !probe.Lacks(verb)) return verb;
  }
  return "";
}

Outcome NoSuchVerb() { return NotApplicable("there is no verb to try it with"); }

}  // namespace

Outcome SessionOpensAgain(ExtenderProbe& probe) {
  if (const auto no = probe.Lacks("onSessionOpen")) return *no;
  const std::string body = BodyOf("onSessionOpen").dump();
  const auto first = probe.Send("onSessionOpen", body);
  if (!first.ok() || first->status != 200) return NotApplicable("it does not open at all");
  const auto again = probe.Send("onSessionOpen", body);
  if (!again.ok()) return Failed(again.status().ToString());
  if (again->status == 200) return Passed();
  return Failed(fmt::format("status {}; a scheduler that was restarted never closes its session",
                            again->status));
}

Outcome LargeSession(ExtenderProbe& probe) {
  if (const auto no = probe.Lacks("onSessionOpen")) return *no;
  (void)probe.Send("onSessionClose", "{}");
  const auto small = probe.Send("onSessionOpen", BodyOf("onSessionOpen").dump());
  if (!small.ok() || small->status != 200) return NotApplicable("it does not open at all");
  (void)probe.Send("onSessionClose", "{}");
  Json job = JobObject("large", 1);
  for (size_t size = 0; size < probe.options.session_bytes; size += kTaskBytes) {
    const std::string name = "large-" + std::to_string(size);
    job["Tasks"]["uid-" + name] =
        TaskObject({.name = name, .job = "conform/large", .annotation_bytes = kTaskBytes});
  }
  const auto answer =
      probe.Send("onSessionOpen", SessionObject({NodeObject("n1", 0)}, {job}).dump());
  if (!answer.ok()) return Failed(answer.status().ToString());
  if (answer->status == 200) return Passed();
  return Failed(fmt::format("status {}: {}", answer->status, answer->body.substr(0, 200)));
}

Outcome ParallelPredicates(ExtenderProbe& probe) {
  if (const auto no = probe.Lacks("predicate")) return *no;
  std::vector<std::string> bodies;
  std::vector<std::string> alone;
  for (size_t i = 0; i < kPredicatesAtOnce; ++i) {
    bodies.push_back(Json{{"task", TaskObject({.name = "pending", .best_effort = true})},
                          {"node", NodeObject("n" + std::to_string(i), i % 2 == 0 ? 0 : 12)}}
                         .dump());
    const auto answer = probe.Send("predicate", bodies.back());
    if (!answer.ok() || answer->status != 200) return NotApplicable("predicate fails one by one");
    alone.push_back(answer->body);
  }
  Mutex mutex;
  std::string wrong;
  AtOnce(kPredicatesAtOnce, [&](size_t i) {
    for (int round = 0; round < 4; ++round) {
      const auto answer = probe.Send("predicate", bodies[i]);
      if (answer.ok() && answer->status == 200 && answer->body == alone[i]) continue;
      const MutexLock lock(mutex);
      wrong = !answer.ok()            ? answer.status().ToString()
              : answer->status != 200 ? fmt::format("status {}", answer->status)
                                      : "another answer than one by one";
      return;
    }
  });
  return wrong.empty() ? Passed()
                       : Failed(fmt::format("{} predicates at once: {}", kPredicatesAtOnce, wrong));
}

Outcome KeepsConnections(ExtenderProbe& probe) {
  const std::string verb = SomeVerb(probe);
  if (verb.empty()) return NoSuchVerb();
  const auto answer = probe.Send(verb, BodyOf(verb).dump());
  if (!answer.ok()) return NotApplicable("it does not answer");
  const std::string* connection = answer->Header("connection");
  if (connection == nullptr || Lower(*connection) != "close") return Passed();
  return Failed("the answer closes the connection; a session asks thousands of times");
}

Outcome UnknownKeys(ExtenderProbe& probe) {
  const std::string verb = SomeVerb(probe);
  if (verb.empty()) return NoSuchVerb();
  if (!probe.Ask(verb, BodyOf(verb)).ok()) return NotApplicable(verb + " fails as it is");
  Json body = BodyOf(verb);
  for (auto& [key, value] : body.items()) {
    if (value.is_object()) value["OfALaterVersion"] = {{"a", 1}};
  }
  body["ofALaterVersion"] = {{"a", Json::array({1, 2})}};
  const auto answer = probe.Ask(verb, body);
  return answer.ok() ? Passed() : Failed(verb + ": " + answer.status().message());
}

Outcome NullTimes(ExtenderProbe& probe) {
  if (const auto no = probe.Lacks("predicate")) return *no;
  if (!probe.Ask("predicate", BodyOf("predicate")).ok()) {
    return NotApplicable("predicate fails as it is");
  }
  const auto answer =
      probe.Ask("predicate", {{"task", TaskObject({.name = "pending", .null_times = true})},
                              {"node", NodeObject("n1", 0)}});
  return answer.ok() ? Passed() : Failed(answer.status().message());
}

Outcome UnknownVerb(ExtenderProbe& probe) {
  const auto answer = probe.Send("noSuchVerb", "{}");
  if (!answer.ok()) return Failed(answer.status().ToString());
  if (answer->status != 200) return Passed(fmt::format("status {}", answer->status));
  return Failed("status 200: a typo in the configuration would be a yes to everything");
}

Outcome NoJson(ExtenderProbe& probe) {
  const std::string verb = SomeVerb(probe);
  if (verb.empty()) return NoSuchVerb();
  const auto answer = probe.Send(verb, "{\"task\": no JSON");
  if (!answer.ok()) {
    return Failed(verb + " does not answer at all: " + answer.status().ToString());
  }
  if (answer->status == 200) return Failed(verb + " answers 200, which counts as an answer");
  const auto after = probe.Send(verb, BodyOf(verb).dump());
  if (!after.ok()) return Failed("and then it does not answer: " + after.status().ToString());
  return Passed(fmt::format("status {}", answer->status));
}

Outcome EarlyLeaver(ExtenderProbe& probe) {
  const std::string verb = SomeVerb(probe);
  if (verb.empty()) return NoSuchVerb();
  const std::string body = BodyOf(verb).dump();
  const auto before = probe.Send(verb, body);
  if (!before.ok()) return NotApplicable("it does not answer");
  for (int i = 0; i < 20; ++i) (void)probe.Send(verb, body, std::chrono::milliseconds(1));
  const auto after = probe.Send(verb, body);
  if (!after.ok()) return Failed("afterwards: " + after.status().ToString());
  if (after->status == before->status && after->body == before->body) return Passed();
  return Failed(fmt::format("before: status {}, {}; afterwards: status {}, {}", before->status,
                            before->body.substr(0, 100), after->status,
                            after->body.substr(0, 100)));
}

Outcome SessionCloses(ExtenderProbe& probe) {
  if (const auto no = probe.Lacks("onSessionClose")) return *no;
  const auto answer = probe.Send("onSessionClose", "{}");
  if (!answer.ok()) return Failed(answer.status().ToString());
  return answer->status == 200 ? Passed() : Failed(fmt::format("status {}", answer->status));
}

Outcome WithoutSession(ExtenderProbe& probe) {
  if (const auto no = probe.Lacks("predicate")) return *no;
  // Never applicable to a server that does not answer it inside of a session either.
  if (!probe.Lacks("onSessionOpen")) {
    (void)probe.Send("onSessionOpen", BodyOf("onSessionOpen").dump());
    if (!probe.Ask("predicate", BodyOf("predicate")).ok()) {
      return NotApplicable("predicate fails within a session");
    }
    (void)probe.Send("onSessionClose", "{}");
  }
  const auto answer = probe.Ask("predicate", BodyOf("predicate"));
  if (answer.ok()) return Passed();
  return Failed(answer.status().message() +
                "; an opening that was lost is no reason for a scheduler not to ask");
}

}  // namespace coppice::conform
