#include "plugins/batch/extender/reference_server.h"

#include <array>
#include <optional>
#include <set>
#include <vector>

#include "base/strings.h"
#include "plugins/batch/extender/go_text.h"
#include "plugins/batch/extender/go_value.h"
#include "wire/json_cursor.h"

namespace coppice::batch::extender {

// Of a question about a task and nodes what the rules look at. Such questions are asked thousands
// of times in a session, so they are read in one go, without a tree of their members.
struct AskedNode {
  std::string name;
  std::optional<size_t> tasks;
};
struct Question {
  bool has_task = false;
  std::optional<bool> best_effort;
  std::string uid;
  std::optional<AskedNode> node;
  std::optional<std::vector<AskedNode>> nodes;
  std::optional<std::set<std::string, std::less<>>> all_but;  // of those that an opening has shown
};

namespace {

// Calls take(key) for each member; it reads the value. Something else than an object is skipped.
template <class Take>
bool EachMember(wire::JsonCursor& in, Take take) {
  if (in.Peek() != '{') return in.Skip();
  bool first = true;
  std::string_view key;
  if (!in.Open('{')) return false;
  while (in.Next('}', first)) {
    if (!in.ReadKey(key) || !take(key)) return false;
  }
  return !in.failed();
}

bool ReadTextInto(wire::JsonCursor& in, std::string& into) {
  into.clear();
  if (in.Peek() != '"') return in.Skip();
  std::string_view text;
  if (!in.ReadText(text)) return false;
  into = ValidUtf8(text);
  return true;
}

bool ReadTask(wire::JsonCursor& in, Question& question) {
  question.has_task = true;
  question.best_effort.reset();
  question.uid.clear();
  return EachMember(in, [&](std::string_view key) {
    if (GoesInto(key, "UID")) return ReadTextInto(in, question.uid);
    if (!GoesInto(key, "BestEffort")) return in.Skip();
    question.best_effort = false;
    const bool is_bool = in.Peek() == 't' || in.Peek() == 'f';
    return is_bool ? in.ReadBool(*question.best_effort) : in.Skip();
  });
}

bool ReadNode(wire::JsonCursor& in, AskedNode& node) {
  return EachMember(in, [&](std::string_view key) {
    if (GoesInto(key, "Name")) return ReadTextInto(in, node.name);
    if (!GoesInto(key, "Tasks")) return in.Skip();
    size_t& tasks = node.tasks.emplace(0);
    return EachMember(in, [&](std::string_view) {
      ++tasks;
      return in.Skip();
    });
  });
}

bool ReadNodes(wire::JsonCursor& in, std::vector<AskedNode>& nodes) {
  if (in.Peek() != '[') return in.Skip();
  bool first = true;
  if (!in.Open('[')) return false;
  while (in.Next(']', first)) {
    if (!ReadNode(in, nodes.emplace_back())) return false;
  }
  return !in.failed();
}

bool ReadNames(wire::JsonCursor& in, std::set<std::string, std::less<>>& names) {
  if (in.Peek() != '[') return in.Skip();
  bool first = true;
  std::string name;
  if (!in.Open('[')) return false;
  while (in.Next(']', first)) {
    if (!ReadTextInto(in, name)) return false;
    names.insert(name);
  }
  return !in.failed();
}

Result<Question> ReadQuestion(std::string_view body) {
  wire::JsonCursor in(body);
  Question question;
  const bool read = EachMember(in, [&](std::string_view key) {
    if (GoesInto(key, "task")) return ReadTask(in, question);
    if (GoesInto(key, "node")) return ReadNode(in, question.node.emplace());
    if (GoesInto(key, "nodes")) return ReadNodes(in, question.nodes.emplace());
    if (GoesInto(key, "allNodesBut")) return ReadNames(in, question.all_but.emplace());
    return in.Skip();
  });
  if (!read) return InvalidArgument("the question is not JSON: " + in.problem());
  return question;
}

constexpr size_t kCrowded = 10;    // tasks on a node that takes no more best-effort pods
constexpr size_t kUnpleasant = 5;  // and on one that is not worth a point

// The last member of that name, or null.
const GoValue* Member(const GoValue* object, std::string_view name) {
  const GoValue* found = nullptr;
  if (!object) return found;
  for (const auto& [key, value] : object->members) {
    if (GoesInto(key, name)) found = &value;
  }
  return found;
}

std::string TextIn(const GoValue& object, std::string_view name) {
  const GoValue* text = Member(&object, name);
  return text ? text->text : "";
}

constexpr std::string_view kPasses = R"({"status":"","code":0})";
constexpr std::string_view kTooMany = R"({"status":"too many tasks on the node","code":2})";

net::ServerResponse JsonReply(std::string body) {
  return {.content_type = "application/json", .body = std::move(body)};
}

net::ServerResponse BadRequest(std::string why) { return {.status = 400, .body = std::move(why)}; }

// All of them, by uid.
net::ServerResponse AnswerVictims(const GoValue& body) {
  std::string out = R"({"status":1,"victims":[)";
  if (const GoValue* evictees = Member(&body, "evictees")) {
    for (const GoValue& task : evictees->items) {
      if (out.back() != '[') out += ',';
      out += task.raw;
    }
  }
  return JsonReply(out + "]}");
}

struct Constant {
  std::string_view verb;
  std::string_view answer;
};
constexpr std::array<Constant, 6> kConstants{{
    {"onSessionClose", ""},
    {"queueOverused", R"({"overused":false})"},
    {"jobEnqueueable", R"({"status":0})"},
    {"jobEnqueued", "{}"},
    {"jobReady", R"({"status":true})"},
    {"allocateFunc", R"({"errorMessage":""})"},
}};

}  // namespace

// A compact body names the task, and the opening has shown it.
bool ReferenceServer::IsBestEffort(const Question& question) const {
  if (question.best_effort) return *question.best_effort;
  const std::lock_guard lock(mutex_);
  const auto known = best_effort_.find(question.uid);
  return known != best_effort_.end() && known->second;
}

size_t ReferenceServer::TasksOn(const AskedNode& node) const {
  if (node.tasks) return *node.tasks;
  const std::lock_guard lock(mutex_);
  const auto known = nodes_.find(node.name);
  return known == nodes_.end() ? 0 : known->second;
}

net::ServerResponse ReferenceServer::AnswerPredicate(const Question& question) const {
  if (!question.has_task || !question.node) return BadRequest("task and node are needed");
  const bool crowded = IsBestEffort(question) && TasksOn(*question.node) > kCrowded;
  return JsonReply(std::string(crowded ? kTooMany : kPasses));
}

net::ServerResponse ReferenceServer::AnswerOfNodes(const Question& question, bool scores) const {
  const bool names_nodes = question.all_but || (question.nodes && !question.nodes->empty());
  if (!question.has_task || !names_nodes) return BadRequest("task and nodes are needed");
  const bool best_effort = IsBestEffort(question);
  std::string out = scores ? R"({"nodeScore":{)" : R"({"nodeStatus":{)";
  const auto judge = [&](std::string_view name, size_t tasks) {
    const bool keeps_off = best_effort && tasks > (scores ? kUnpleasant : kCrowded);
    if (!scores && !keeps_off) return;
    if (out.back() != '{') out += ',';
    AppendGoText(out, name);
    out += ':';
    out += !scores ? kTooMany : keeps_off ? "0" : "1";
  };
  if (!question.all_but) {
    for (const AskedNode& node : *question.nodes) judge(node.name, TasksOn(node));
  } else if (scores || best_effort) {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, tasks] : nodes_) {
      if (!question.all_but->contains(name)) judge(name, tasks);
    }
  }
  return JsonReply(out + R"(},"errorMessage":""})");
}

// A delta on something else than what it has is of no use.
net::ServerResponse ReferenceServer::Open(const GoValue& body) {
  const std::lock_guard lock(mutex_);
  const bool delta = Member(&body, "Base") != nullptr;
  if (delta && TextIn(body, "Base") != session_) return JsonReply(R"({"resend":true})");
  if (!delta) {
    jobs_.clear();
    best_effort_.clear();
    nodes_.clear();
  }
  Keep(body);
  session_ = TextIn(body, "Session");
  return JsonReply("{}");
}

void ReferenceServer::Keep(const GoValue& opening) {
  const auto drop = [this](const std::string& job) {
    const auto old = jobs_.find(job);
    if (old == jobs_.end()) return;
    for (const auto& [uid, flag] : old->second) best_effort_.erase(uid);
    jobs_.erase(old);
  };
  const GoValue* gone = Member(&opening, "Gone");
  if (const GoValue* jobs = Member(gone, "Jobs")) {
    for (const GoValue& job : jobs->items) drop(job.text);
  }
  if (const GoValue* nodes = Member(gone, "Nodes")) {
    for (const GoValue& node : nodes->items) nodes_.erase(node.text);
  }
  if (const GoValue* jobs = Member(&opening, "Jobs")) {
    for (const auto& [id, job] : jobs->members) {
      drop(id);
      const GoValue* tasks = Member(&job, "Tasks");
      if (!tasks) continue;
      for (const auto& [uid, task] : tasks->members) {
        const GoValue* flag = Member(&task, "BestEffort");
        jobs_[id][uid] = best_effort_[uid] = flag && flag->flag;
      }
    }
  }
  if (const GoValue* nodes = Member(&opening, "Nodes")) {
    for (const auto& [name, node] : nodes->members) {
      const GoValue* tasks = Member(&node, "Tasks");
      nodes_[name] = tasks ? tasks->members.size() : 0;
    }
  }
}

net::ServerResponse ReferenceServer::AnswerBind(const GoValue& body) const {
  const Binding binding{.namespace_ = TextIn(body, "PodNamespace"),
                        .pod = TextIn(body, "PodName"),
                        .uid = TextIn(body, "PodUID"),
                        .node = TextIn(body, "Node")};
  if (binding.pod.empty() || binding.node.empty()) return BadRequest("PodName and Node are needed");
  const Status bound =
      bind_ ? bind_(binding) : FailedPrecondition("this server was given no cluster to bind in");
  std::string out = R"({"Error":)";
  AppendGoText(out, bound.ok() ? "" : bound.message());
  return JsonReply(out + '}');
}

net::ServerResponse ReferenceServer::Answer(const net::ServerRequest& request) {
  if (request.method != "POST") return {.status = 405, .body = "POST is all there is\n"};
  const std::string_view verb = std::string_view(request.path).substr(request.path.rfind('/') + 1);
  for (const Constant& constant : kConstants) {
    if (verb == constant.verb || (verb == "deallocateFunc" && constant.verb == "allocateFunc")) {
      return JsonReply(std::string(constant.answer));
    }
  }
  const bool known = verb == "predicate" || verb == "prioritize" || verb == "batchPredicate" ||
                     verb == "preemptable" || verb == "reclaimable" || verb == "onSessionOpen" ||
                     verb == "bind";
  if (!known) return {.status = 404, .body = "no such verb\n"};
  if (verb == "predicate" || verb == "prioritize" || verb == "batchPredicate") {
    const auto question = ReadQuestion(request.body);
    if (!question.ok()) return BadRequest(question.status().message());
    if (verb == "predicate") return AnswerPredicate(*question);
    return AnswerOfNodes(*question, verb == "prioritize");
  }
  const auto body = ReadGoValue(request.body);
  if (!body.ok()) return BadRequest(body.status().message());
  if (verb == "onSessionOpen") return Open(*body);
  if (verb == "bind") return AnswerBind(*body);
  return AnswerVictims(*body);
}

}  // namespace coppice::batch::extender
