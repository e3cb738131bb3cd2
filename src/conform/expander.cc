#include "conform/expander.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/strings.h"
#include "expander.pb.h"
#include "model/objects.h"
#include "rpc/expander_messages.h"
#include "wire/wire.h"

namespace coppice::conform {
namespace {

constexpr char kOverGrpc[] = "docs/extending/expander.md#2-over-grpc-any-language";
constexpr size_t kQuestionsAtOnce = 16;
constexpr size_t kLargeBytes = size_t{24} << 20;  // some twenty thousand pods
// A field that no message of the protocol has: number 1000, the text "x".
constexpr std::string_view kLaterField = "\xC2\x3E\x01x";

enum class Fields { kNew, kOld, kBoth };

class ExpanderProbe {
 public:
  ExpanderProbe(const ExpanderOptions& options, Transport transport, Clock& clock)
      : calls(std::move(transport), clock, rpc::kExpanderService, options.timeout) {}

  // A server that refuses questions is there all the same.
  Status Alive() const;

  Result<std::vector<std::string>> Ask(const grpcplugin::BestOptionsRequest& question) const {
    const auto answer = TRY(calls.Ask<grpcplugin::BestOptionsResponse>("BestOptions", question));
    std::vector<std::string> ids;
    for (const grpcplugin::Option& option : answer.options()) ids.push_back(option.nodegroupid());
    return ids;
  }

  Calls calls;
  bool answers = false;  // to the plain question
  bool steady = false;   // and the same each time
  std::vector<std::string> plain;
};

std::string APod(const std::string& name, size_t padding = 0) {
  model::Pod pod;
  pod.metadata.name = name;
  pod.metadata.namespace_ = "default";
  pod.metadata.uid = "uid-" + name;
  pod.metadata.labels["app"] = "conform";
  if (padding > 0) pod.metadata.annotations["conform"] = std::string(padding, 'x');
  model::Container& container = pod.spec.containers.emplace_back();
  container.name = "main";
  container.resources.requests["cpu"] = model::Quantity::Parse("500m").value();
  container.resources.requests["memory"] = model::Quantity::Parse("256Mi").value();
  return wire::ToProto(pod);
}

std::string ANode(const std::string& group, int cpus) {
  model::Node node;
  node.metadata.name = "template-node-for-" + group;
  for (const char* key : {"kubernetes.io/os", "kubernetes.io/arch"}) {
    node.metadata.labels[key] = std::string_view(key).ends_with("os") ? "linux" : "amd64";
  }
  node.metadata.labels["topology.kubernetes.io/zone"] = "zone-" + group;
  for (const auto& [resource, amount] : std::initializer_list<std::pair<const char*, std::string>>{
           {"cpu", std::to_string(cpus)},
           {"memory", std::to_string(cpus * 4) + "Gi"},
           {"pods", "110"}}) {
    node.status.capacity[resource] = model::Quantity::Parse(amount).value();
    node.status.allocatable[resource] = model::Quantity::Parse(amount).value();
  }
  return wire::ToProto(node);
}

void AddOption(grpcplugin::BestOptionsRequest& question, const std::string& group, int nodes,
               int pods, Fields fields) {
  grpcplugin::Option& option = *question.add_options();
  option.set_nodegroupid(group);
  option.set_nodecount(nodes);
  option.set_debug(group + " (0 -> " + std::to_string(nodes) + ")");
  for (int i = 0; i < pods; ++i) {
    const std::string pod = APod(group + "-" + std::to_string(i));
    if (fields != Fields::kOld) option.add_podbytes(pod);
    if (fields != Fields::kNew) option.add_pod(pod);
  }
}

void AddNode(grpcplugin::BestOptionsRequest& question, const std::string& group, int cpus,
             Fields fields) {
  const std::string node = ANode(group, cpus);
  if (fields != Fields::kOld) (*question.mutable_nodebytesmap())[group] = node;
  if (fields != Fields::kNew) (*question.mutable_nodemap())[group] = node;
}

// Three groups that differ in what an expander may go by, and a fourth that is not offered.
grpcplugin::BestOptionsRequest PlainQuestion(Fields fields = Fields::kNew,
                                             const std::string& prefix = "") {
  grpcplugin::BestOptionsRequest question;
  AddOption(question, prefix + "small", 4, 6, fields);
  AddOption(question, prefix + "medium", 2, 8, fields);
  AddOption(question, prefix + "large", 1, 5, fields);
  int cpus = 2;
  for (const char* group : {"small", "medium", "large", "not-offered"}) {
    AddNode(question, prefix + group, cpus, fields);
    cpus *= 2;
  }
  return question;
}

std::optional<std::string> NotOffered(const grpcplugin::BestOptionsRequest& question,
                                      const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    const auto offered = [&](const grpcplugin::Option& option) {
      return option.nodegroupid() == id;
    };
    if (std::ranges::none_of(question.options(), offered)) return id;
  }
  return std::nullopt;
}

Outcome Unanswered() { return NotApplicable("a plain question is not answered"); }

// An answer with OK, or what that costs.
Outcome Answers(const ExpanderProbe& probe, const grpcplugin::BestOptionsRequest& question,
                const char* what) {
  if (!probe.answers) return Unanswered();
  const auto answer = probe.Ask(question);
  if (answer.ok()) return Passed();
  return Failed(
      fmt::format("{}: {}; the autoscaler then keeps all options, and the expander might "
                  "as well not be there",
                  what, answer.status().ToString()));
}

Outcome PlainAnswer(ExpanderProbe& probe) {
  const auto question = PlainQuestion();
  const auto answer = probe.Ask(question);
  if (!answer.ok()) return Failed(answer.status().ToString());
  probe.answers = true;
  probe.plain = *answer;
  probe.steady = true;
  for (int i = 0; i < 8 && probe.steady; ++i) {
    const auto again = probe.Ask(question);
    probe.steady = again.ok() && *again == probe.plain;
  }
  return Passed("keeps " + (answer->empty() ? "none" : Join(*answer, ", ")) + " of three" +
                (probe.steady ? "" : ", and not always the same"));
}

Outcome OfferedOnly(ExpanderProbe& probe) {
  if (!probe.answers) return Unanswered();
  const auto question = PlainQuestion();
  for (int i = 0; i < 8; ++i) {
    const auto answer = probe.Ask(question);
    if (!answer.ok()) continue;
    if (const auto id = NotOffered(question, *answer)) {
      return Failed(fmt::format("'{}' was not offered{}", *id,
                                *id == "not-offered" ? ": the map of nodes has groups beside the "
                                                       "options"
                                                     : ""));
    }
  }
  return Passed();
}

Outcome NoDuplicates(ExpanderProbe& probe) {
  if (!probe.answers) return Unanswered();
  const auto answer = probe.Ask(PlainQuestion());
  if (!answer.ok()) return Failed(answer.status().ToString());
  std::set<std::string> seen;
  for (const std::string& id : *answer) {
    if (!seen.insert(id).second) {
      return Failed("'" + id + "' is answered twice, which doubles its chance in the draw");
    }
  }
  return Passed();
}

Outcome OneOption(ExpanderProbe& probe) {
  grpcplugin::BestOptionsRequest question;
  AddOption(question, "only", 1, 3, Fields::kNew);
  AddNode(question, "only", 4, Fields::kNew);
  return Answers(probe, question, "a single option");
}

// What an autoscaler of another era asks is the same question.
Outcome EitherEra(ExpanderProbe& probe) {
  if (!probe.answers) return Unanswered();
  constexpr std::pair<Fields, const char*> kEras[] = {
      {Fields::kOld, "1.34.1 and before (nodeMap, pod)"},
      {Fields::kBoth, "1.34.2 to 1.34.5 (all fields)"}};
  for (const auto& [fields, name] : kEras) {
    const auto answer = probe.Ask(PlainQuestion(fields));
    if (!answer.ok()) {
      return Failed(fmt::format("asked as {}: {}", name, answer.status().ToString()));
    }
    if (probe.steady && *answer != probe.plain) {
      return Failed(fmt::format("asked as {} it keeps [{}], asked as 1.35 [{}]", name,
                                Join(*answer, ", "), Join(probe.plain, ", ")));
    }
  }
  return Passed(probe.steady ? "" : "answers vary, so that only their being there was compared");
}

Outcome IdsAsSent(ExpanderProbe& probe) {
  if (!probe.answers) return Unanswered();
  grpcplugin::BestOptionsRequest question;
  for (const char* id : {"https://example.com/Gruppe Zürich/a:b|c", " A b/ "}) {
    AddOption(question, id, 1, 1, Fields::kNew);
    AddNode(question, id, 4, Fields::kNew);
  }
  const auto answer = probe.Ask(question);
  if (!answer.ok()) return Failed(answer.status().ToString());
  if (answer->empty()) return NotApplicable("it keeps none of the options");
  const auto other = NotOffered(question, *answer);
  if (!other) return Passed();
  return Failed("'" + *other + "' is answered, and no group is spelt like that");
}

Outcome WithoutTemplates(ExpanderProbe& probe) {
  auto question = PlainQuestion();
  question.clear_nodebytesmap();
  return Answers(probe, question, "a question without the map of nodes");
}

Outcome WithoutPods(ExpanderProbe& probe) {
  auto question = PlainQuestion();
  for (grpcplugin::Option& option : *question.mutable_options()) option.clear_podbytes();
  return Answers(probe, question, "options without pods");
}

Outcome OddCounts(ExpanderProbe& probe) {
  auto question = PlainQuestion();
  question.mutable_options(0)->set_nodecount(0);
  question.mutable_options(1)->set_nodecount(-1);
  question.mutable_options(2)->set_nodecount(std::numeric_limits<int32_t>::max());
  return Answers(probe, question, "node counts of 0, -1 and 2147483647");
}

Outcome LargeQuestion(ExpanderProbe& probe) {
  auto question = PlainQuestion();
  const std::string pod = APod("large", 4'000);
  grpcplugin::Option& option = *question.mutable_options(0);
  for (size_t size = 0; size < kLargeBytes; size += pod.size()) option.add_podbytes(pod);
  return Answers(probe, question, "a question of 24 MiB");
}

Outcome TogetherAsAlone(ExpanderProbe& probe) {
  if (!probe.answers) return Unanswered();
  Mutex mutex;
  std::string wrong;
  AtOnce(kQuestionsAtOnce, [&](size_t i) {
    const std::string prefix = "asker" + std::to_string(i) + "-";
    const auto question = PlainQuestion(Fields::kNew, prefix);
    for (int round = 0; round < 4; ++round) {
      const auto answer = probe.Ask(question);
      auto foreign = answer.ok() ? NotOffered(question, *answer) : std::nullopt;
      if (foreign && !foreign->starts_with("asker")) foreign.reset();  // offered-only has that
      if (answer.ok() && !foreign) continue;
      const MutexLock lock(mutex);
      wrong =
          foreign ? "'" + *foreign + "' was offered to another asker" : answer.status().ToString();
      return;
    }
  });
  if (wrong.empty()) return Passed();
  return Failed(fmt::format("{} questions at once: {}", kQuestionsAtOnce, wrong));
}

Outcome EarlyLeavers(ExpanderProbe& probe) {
  if (!probe.answers) return Unanswered();
  const std::string bytes = PlainQuestion().SerializeAsString();
  for (int i = 0; i < 20; ++i) {
    (void)probe.calls.Bytes("BestOptions", bytes, std::chrono::milliseconds(1));
  }
  const auto after = probe.Ask(PlainQuestion());
  if (!after.ok())
    return Failed("after calls with a deadline of 1 ms: " + after.status().ToString());
  return Passed();
}

Outcome LaterFields(ExpanderProbe& probe) {
  if (!probe.answers) return Unanswered();
  const auto answer = probe.calls.Bytes(
      "BestOptions", PlainQuestion().SerializeAsString() + std::string(kLaterField));
  if (answer.ok()) return Passed();
  return Failed("a question with a field of a later version: " + answer.status().ToString());
}

Outcome LaterMethod(ExpanderProbe& probe) {
  const auto answer = probe.calls.Bytes("BestOptionsOfALaterVersion", "");
  if (answer.code() == Code::kUnimplemented) return Passed();
  return Failed("a method that does not exist is answered with " +
                (answer.ok() ? "OK" : answer.status().ToString()));
}

// A pod that cannot be read is a reason to refuse the question or to do without the pod, not to end.
Outcome UnreadablePod(ExpanderProbe& probe) {
  if (!probe.answers) return Unanswered();
  auto question = PlainQuestion();
  question.mutable_options(1)->add_podbytes("\xFF\xFF no pod");
  (*question.mutable_nodebytesmap())["large"] = "\xFF no node";
  const auto odd = probe.Ask(question);
  const auto after = probe.Ask(PlainQuestion());
  if (after.ok()) return Passed("answered " + std::string(ToString(odd.code())));
  return Failed("after a pod that cannot be read: " + after.status().ToString());
}

Outcome GarbageQuestion(ExpanderProbe& probe) {
  if (!probe.answers) return Unanswered();
  if (probe.calls.Bytes("BestOptions", "\xFF\xFF\xFF\xFF").ok()) {
    return Failed(
        "bytes that are no question are answered with OK, and OK without an option means "
        "that nothing is bought");
  }
  const auto after = probe.Ask(PlainQuestion());
  return after.ok() ? Passed() : Failed("afterwards: " + after.status().ToString());
}

// Last: servers are known that end here.
Outcome NoOptions(ExpanderProbe& probe) {
  if (!probe.answers) return Unanswered();
  const auto none = probe.Ask(grpcplugin::BestOptionsRequest());
  if (none.ok() && !none->empty()) return Failed("'" + none->front() + "' was not offered");
  const auto after = probe.Ask(PlainQuestion());
  if (!after.ok()) {
    return Failed(fmt::format("a question without options ({}), and then: {}",
                              none.ok() ? "answered with OK" : none.status().ToString(),
                              after.status().ToString()));
  }
  return Passed("answered " + std::string(ToString(none.code())));
}

Status ExpanderProbe::Alive() const {
  const auto answer = Ask(PlainQuestion());
  const bool gone = answer.code() == Code::kUnavailable || answer.code() == Code::kDeadlineExceeded;
  return gone ? answer.status() : Status::Ok();
}

constexpr Rule<ExpanderProbe> kExpanderRules[] = {
    {"answers", "a question with three options is answered in time", kOverGrpc, PlainAnswer},
    {"offered-only", "only groups that were offered are answered", kOverGrpc, OfferedOnly},
    {"no-duplicates", "no group is answered twice", kOverGrpc, NoDuplicates},
    {"one-option", "a single option is a question as well", kOverGrpc, OneOption},
    {"either-era", "the fields of either era are read, and make no difference", kOverGrpc,
     EitherEra},
    {"ids-as-sent", "a group's id comes back byte for byte", kOverGrpc, IdsAsSent},
    {"without-templates", "the map of nodes may be missing", kOverGrpc, WithoutTemplates},
    {"without-pods", "pods may be missing", kOverGrpc, WithoutPods},
    {"odd-counts", "any number of nodes is survived", kOverGrpc, OddCounts},
    {"large-question", "24 MiB of pods are taken", kOverGrpc, LargeQuestion},
    {"parallel-questions", "questions at once have each their own answer", kOverGrpc,
     TogetherAsAlone},
    {"unknown-fields", "fields that you do not know are no error", kOverGrpc, LaterFields},
    {"unknown-method", "a method that you do not have is Unimplemented", kOverGrpc, LaterMethod},
    {"short-deadlines", "a caller that leaves early changes nothing for the next one", kOverGrpc,
     EarlyLeavers},
    {"unreadable-pod", "a pod that cannot be read does not end the server", kOverGrpc,
     UnreadablePod},
    {"garbage-request", "bytes that are no message are refused, and the server goes on", kOverGrpc,
     GarbageQuestion},
    {"no-options", "a question without options does not end the server", kOverGrpc, NoOptions},
};

}  // namespace

std::vector<RuleText> ExpanderRules() {
  return TextsOf(std::span<const Rule<ExpanderProbe>>(kExpanderRules));
}

Report TryExpander(const ExpanderOptions& options, Transport transport, Clock& clock) {
  ExpanderProbe probe(options, std::move(transport), clock);
  return Play(std::span<const Rule<ExpanderProbe>>(kExpanderRules), probe, options.play, clock);
}

}  // namespace coppice::conform
