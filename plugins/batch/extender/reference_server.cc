#include "plugins/batch/extender/reference_server.h"

#include <array>

#include "plugins/batch/extender/go_text.h"
#include "plugins/batch/extender/go_value.h"

namespace coppice::batch::extender {
namespace {

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

bool IsBestEffort(const GoValue& body) {
  const GoValue* flag = Member(Member(&body, "task"), "BestEffort");
  return flag && flag->flag;
}

size_t TasksOn(const GoValue& node) {
  const GoValue* tasks = Member(&node, "Tasks");
  return tasks ? tasks->members.size() : 0;
}

std::string NodeName(const GoValue& node) {
  const GoValue* name = Member(&node, "Name");
  return name ? name->text : "";
}

constexpr std::string_view kPasses = R"({"status":"","code":0})";
constexpr std::string_view kTooMany = R"({"status":"too many tasks on the node","code":2})";

net::ServerResponse JsonReply(std::string body) {
  return {.content_type = "application/json", .body = std::move(body)};
}

net::ServerResponse BadRequest(std::string why) { return {.status = 400, .body = std::move(why)}; }

net::ServerResponse AnswerPredicate(const GoValue& body) {
  const GoValue* node = Member(&body, "node");
  if (!Member(&body, "task") || !node) return BadRequest("task and node are needed");
  return JsonReply(
      std::string(IsBestEffort(body) && TasksOn(*node) > kCrowded ? kTooMany : kPasses));
}

net::ServerResponse AnswerOfNodes(const GoValue& body, bool scores) {
  const GoValue* nodes = Member(&body, "nodes");
  if (!Member(&body, "task") || !nodes || nodes->items.empty()) {
    return BadRequest("task and nodes are needed");
  }
  const bool best_effort = IsBestEffort(body);
  std::string out = scores ? R"({"nodeScore":{)" : R"({"nodeStatus":{)";
  for (const GoValue& node : nodes->items) {
    const bool keeps_off = best_effort && TasksOn(node) > (scores ? kUnpleasant : kCrowded);
    if (!scores && !keeps_off) continue;
    if (out.back() != '{') out += ',';
    AppendGoText(out, NodeName(node));
    out += ':';
    out += !scores ? kTooMany : keeps_off ? "0" : "1";
  }
  return JsonReply(out + R"(},"errorMessage":""})");
}

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
constexpr std::array<Constant, 7> kConstants{{
    {"onSessionOpen", ""},
    {"onSessionClose", ""},
    {"queueOverused", R"({"overused":false})"},
    {"jobEnqueueable", R"({"status":0})"},
    {"jobEnqueued", "{}"},
    {"jobReady", R"({"status":true})"},
    {"allocateFunc", R"({"errorMessage":""})"},
}};

}  // namespace

net::ServerResponse AnswerAsReference(const net::ServerRequest& request) {
  if (request.method != "POST") return {.status = 405, .body = "POST is all there is\n"};
  const std::string_view verb = std::string_view(request.path).substr(request.path.rfind('/') + 1);
  for (const Constant& constant : kConstants) {
    if (verb == constant.verb || (verb == "deallocateFunc" && constant.verb == "allocateFunc")) {
      return JsonReply(std::string(constant.answer));
    }
  }
  const bool known = verb == "predicate" || verb == "prioritize" || verb == "batchPredicate" ||
                     verb == "preemptable" || verb == "reclaimable";
  if (!known) return {.status = 404, .body = "no such verb\n"};
  const auto body = ReadGoValue(request.body);
  if (!body.ok()) return BadRequest(body.status().message());
  if (verb == "predicate") return AnswerPredicate(*body);
  if (verb == "prioritize") return AnswerOfNodes(*body, true);
  if (verb == "batchPredicate") return AnswerOfNodes(*body, false);
  return AnswerVictims(*body);
}

}  // namespace coppice::batch::extender
