// The verbs, one by one: what each has to answer.

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "conform/extender_probe.h"

namespace coppice::conform {
namespace {

// What is wrong with the type of a member, or nothing; absent is right.
std::optional<std::string> NotText(const Json& answer, const char* name) {
  const Json* member = GoMember(answer, name);
  if (member == nullptr || member->is_string()) return std::nullopt;
  return fmt::format("\"{}\" is {} instead of a text", name, member->dump().substr(0, 100));
}
std::optional<std::string> NotWhole(const Json& answer, const char* name) {
  const Json* member = GoMember(answer, name);
  if (member == nullptr || member->is_number_integer()) return std::nullopt;
  return fmt::format("\"{}\" is {} instead of a whole number", name, member->dump().substr(0, 100));
}
std::optional<std::string> NotFlag(const Json& answer, const char* name) {
  const Json* member = GoMember(answer, name);
  if (member == nullptr || member->is_boolean()) return std::nullopt;
  return fmt::format("\"{}\" is {} instead of true or false", name, member->dump().substr(0, 100));
}

std::string TextOf(const Json& answer, const char* name) {
  const Json* member = GoMember(answer, name);
  return member != nullptr && member->is_string() ? member->get<std::string>() : "";
}
int64_t WholeOf(const Json& answer, const char* name) {
  const Json* member = GoMember(answer, name);
  return member != nullptr && member->is_number_integer() ? member->get<int64_t>() : 0;
}

std::optional<std::string> BadPredicate(const Json& answer) {
  if (auto wrong = NotText(answer, "status")) return wrong;
  return NotWhole(answer, "code");
}

// Questions on which an extender may have an opinion.
std::vector<Json> PredicateBodies() {
  std::vector<Json> bodies;
  for (const bool best_effort : {false, true}) {
    for (const int tasks : {0, 12}) {
      bodies.push_back({{"task", TaskObject({.name = "pending", .best_effort = best_effort})},
                        {"node", NodeObject("n1", tasks)}});
    }
  }
  return bodies;
}

// Asks both verbs about victims, as far as the server has them.
Outcome ForVictims(ExtenderProbe& probe, const Json& body,
                   const std::function<std::optional<std::string>(const Json& answer)>& judge) {
  std::optional<Outcome> lacks;
  bool asked = false;
  for (const char* verb : {"preemptable", "reclaimable"}) {
    if (const auto no = probe.Lacks(verb)) {
      lacks = no;
      continue;
    }
    asked = true;
    const auto answer = probe.Ask(verb, body);
    const auto wrong =
        answer.ok() ? judge(*answer) : std::optional<std::string>(answer.status().message());
    if (wrong) return Failed(std::string(verb) + ": " + *wrong);
  }
  return asked ? Passed() : *lacks;
}

std::vector<Json> Victims(const Json& answer) {
  const Json* victims = GoMember(answer, "victims");
  if (victims == nullptr || !victims->is_array()) return {};
  return {victims->begin(), victims->end()};
}

// One verb, one body, one judgement.
Outcome OneVerb(ExtenderProbe& probe, const char* verb,
                const std::function<std::optional<std::string>(const Json& answer)>& judge) {
  if (const auto no = probe.Lacks(verb)) return *no;
  const auto answer = probe.Ask(verb, BodyOf(verb));
  if (!answer.ok()) return Failed(answer.status().message());
  if (auto wrong = judge(*answer)) return Failed(*wrong);
  return Passed();
}

}  // namespace

Outcome HasVerbs(ExtenderProbe& probe) {
  std::string there;
  for (const std::string& verb : ExtenderVerbs()) {
    if (!probe.Lacks(verb)) there += (there.empty() ? "" : ", ") + verb;
  }
  if (!there.empty()) return Passed(there);
  return Failed("no verb is answered under this prefix");
}

Outcome SessionOpens(ExtenderProbe& probe) {
  if (const auto no = probe.Lacks("onSessionOpen")) return *no;
  const auto answer = probe.Send("onSessionOpen", BodyOf("onSessionOpen").dump());
  if (!answer.ok()) return Failed(answer.status().ToString());
  if (answer->status == 200) return Passed();
  return Failed(fmt::format("status {}: {}; the extender is then not asked in that session",
                            answer->status, answer->body.substr(0, 200)));
}

Outcome PredicateAnswer(ExtenderProbe& probe) {
  if (const auto no = probe.Lacks("predicate")) return *no;
  for (const Json& body : PredicateBodies()) {
    const auto answer = probe.Ask("predicate", body);
    if (!answer.ok()) return Failed(answer.status().message());
    if (auto wrong = BadPredicate(*answer)) return Failed(*wrong);
  }
  return Passed();
}

Outcome PredicateSaysWhy(ExtenderProbe& probe) {
  if (const auto no = probe.Lacks("predicate")) return *no;
  int refusals = 0;
  for (const Json& body : PredicateBodies()) {
    const auto answer = probe.Ask("predicate", body);
    if (!answer.ok() || BadPredicate(*answer)) return NotApplicable("the answer cannot be read");
    const std::string why = TextOf(*answer, "status");
    const int64_t code = WholeOf(*answer, "code");
    if (why.empty() && code != 0) {
      return Failed(fmt::format("code {} without a status counts as a yes", code));
    }
    if (!why.empty() && (code < 1 || code > 5)) {
      return Failed(
          fmt::format("\"{}\" with code {}: 0 counts as an error, an unknown one as a yes "
                      "in places",
                      why, code));
    }
    refusals += why.empty() ? 0 : 1;
  }
  return Passed(fmt::format("{} of {} refused", refusals, PredicateBodies().size()));
}

Outcome BatchAgrees(ExtenderProbe& probe) {
  if (const auto no = probe.Lacks("batchPredicate")) return *no;
  const Json task = TaskObject({.name = "pending", .best_effort = true});
  const std::vector<Json> nodes = {NodeObject("n1", 0), NodeObject("n2", 12)};
  const auto answer = probe.Ask("batchPredicate", {{"task", task}, {"nodes", nodes}});
  if (!answer.ok()) return Failed(answer.status().message());
  if (auto wrong = NotText(*answer, "errorMessage")) return Failed(*wrong);
  const Json* statuses = GoMember(*answer, "nodeStatus");
  const Json none = Json::object();
  if (statuses == nullptr) statuses = &none;
  if (!statuses->is_object()) return Failed("\"nodeStatus\" is not an object");
  for (const auto& [name, status] : statuses->items()) {
    if (name != "n1" && name != "n2") return Failed("node '" + name + "' was not sent");
    if (!status.is_object()) return Failed("the status of '" + name + "' is not an object");
    if (auto wrong = BadPredicate(status)) return Failed(name + ": " + *wrong);
  }
  if (probe.Lacks("predicate")) return Passed();
  for (const Json& node : nodes) {
    const auto alone = probe.Ask("predicate", {{"task", task}, {"node", node}});
    if (!alone.ok() || BadPredicate(*alone)) return NotApplicable("predicate cannot be read");
    const auto found = statuses->find(node.at("Name").get<std::string>());
    const std::string together = found == statuses->end() ? "" : TextOf(*found, "status");
    if (together.empty() != TextOf(*alone, "status").empty()) {
      return Failed(fmt::format("node '{}' is {} by predicate and {} by batchPredicate",
                                node.at("Name").get<std::string>(),
                                TextOf(*alone, "status").empty() ? "taken" : "refused",
                                together.empty() ? "taken" : "refused"));
    }
  }
  return Passed();
}

Outcome PrioritizeAnswer(ExtenderProbe& probe) {
  return OneVerb(probe, "prioritize", [](const Json& answer) -> std::optional<std::string> {
    if (auto wrong = NotText(answer, "errorMessage")) return wrong;
    if (!TextOf(answer, "errorMessage").empty()) {
      return "an ordinary task is answered with the error " + TextOf(answer, "errorMessage");
    }
    const Json* scores = GoMember(answer, "nodeScore");
    if (scores == nullptr) return "there is no \"nodeScore\", which counts as an error";
    if (!scores->is_object()) return "\"nodeScore\" is not an object";
    for (const auto& [name, score] : scores->items()) {
      if (!score.is_number()) return "the score of '" + name + "' is " + score.dump();
    }
    return std::nullopt;
  });
}

Outcome PrioritizeNames(ExtenderProbe& probe) {
  return OneVerb(probe, "prioritize", [](const Json& answer) -> std::optional<std::string> {
    const Json* scores = GoMember(answer, "nodeScore");
    if (scores == nullptr || !scores->is_object()) return std::nullopt;
    for (const auto& [name, score] : scores->items()) {
      if (name != "n1" && name != "n2") return "'" + name + "' was not sent: its score is lost";
    }
    return std::nullopt;
  });
}

Outcome VictimsAnswer(ExtenderProbe& probe) {
  return ForVictims(probe, BodyOf("preemptable"),
                    [](const Json& answer) -> std::optional<std::string> {
                      if (auto wrong = NotWhole(answer, "status")) return wrong;
                      const Json* victims = GoMember(answer, "victims");
                      if (victims == nullptr) return std::nullopt;
                      if (!victims->is_array()) return "\"victims\" is not a list";
                      for (const Json& victim : *victims) {
                        if (TextOf(victim, "UID").empty()) return "a victim has no UID";
                      }
                      return std::nullopt;
                    });
}

Outcome VictimsOffered(ExtenderProbe& probe) {
  return ForVictims(probe, BodyOf("preemptable"),
                    [](const Json& answer) -> std::optional<std::string> {
                      for (const Json& victim : Victims(answer)) {
                        const std::string uid = TextOf(victim, "UID");
                        if (!uid.empty() && uid != "uid-running-0" && uid != "uid-running-1") {
                          return "'" + uid + "' is not among the evictees";
                        }
                      }
                      return std::nullopt;
                    });
}

Outcome VictimsWhole(ExtenderProbe& probe) {
  return ForVictims(probe, BodyOf("preemptable"),
                    [](const Json& answer) -> std::optional<std::string> {
                      for (const Json& victim : Victims(answer)) {
                        for (const char* part : {"Resreq", "Pod", "Job", "NodeName"}) {
                          if (GoMember(victim, part) == nullptr) {
                            return fmt::format(
                                "a victim comes back without {}: enough for Coppice, a crash in "
                                "Volcano",
                                part);
                          }
                        }
                      }
                      return std::nullopt;
                    });
}

Outcome VictimsOfNobody(ExtenderProbe& probe) {
  return ForVictims(probe, {{"evictor", TaskObject({.name = "pending"})}, {"evictees", nullptr}},
                    [](const Json& answer) -> std::optional<std::string> {
                      return Victims(answer).empty()
                                 ? std::nullopt
                                 : std::optional<std::string>("victims out of nobody");
                    });
}

Outcome QueueOverused(ExtenderProbe& probe) {
  return OneVerb(probe, "queueOverused",
                 [](const Json& answer) { return NotFlag(answer, "overused"); });
}

Outcome JobEnqueueable(ExtenderProbe& probe) {
  return OneVerb(probe, "jobEnqueueable", [](const Json& answer) -> std::optional<std::string> {
    if (auto wrong = NotWhole(answer, "status")) return wrong;
    const int64_t vote = WholeOf(answer, "status");
    if (vote >= -1 && vote <= 1) return std::nullopt;
    return fmt::format("a vote of {}", vote);
  });
}

Outcome JobEnqueued(ExtenderProbe& probe) {
  return OneVerb(probe, "jobEnqueued",
                 [](const Json&) -> std::optional<std::string> { return std::nullopt; });
}

Outcome JobReady(ExtenderProbe& probe) {
  return OneVerb(probe, "jobReady", [](const Json& answer) { return NotFlag(answer, "status"); });
}

Outcome PlacementEvents(ExtenderProbe& probe) {
  std::optional<Outcome> lacks;
  bool asked = false;
  for (const char* verb : {"allocateFunc", "deallocateFunc"}) {
    if (const auto no = probe.Lacks(verb)) {
      lacks = no;
      continue;
    }
    asked = true;
    const auto answer = probe.Ask(verb, BodyOf(verb));
    const auto wrong = answer.ok() ? NotText(*answer, "errorMessage")
                                   : std::optional<std::string>(answer.status().message());
    if (wrong) return Failed(std::string(verb) + ": " + *wrong);
  }
  return asked ? Passed() : *lacks;
}

}  // namespace coppice::conform
