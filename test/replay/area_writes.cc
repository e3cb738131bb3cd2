// coppice-replay writes: what was sent to a real API server and what it answered. Our requests have
// to be the same, our reading of the answers has to be right, and our edit of a node has to end in
// what the server's own patch ended in.

#include <string>

#include "kube/kube_writer.h"
#include "kube/node_edit.h"
#include "test/replay/kube_answer.h"
#include "test/replay/replay.h"
#include "wire/api_error.h"
#include "wire/envelope.h"
#include "wire/wire.h"

namespace coppice::replay {
namespace {

void CompareWrite(const std::string& where, const std::string& theirs, const std::string& ours,
                  Report& report) {
  if (theirs != ours) report.Differs(where, theirs, ours);
}

void Eviction(const Json& request, const Json& body, Report& report) {
  const Json& metadata = body.at("metadata");
  const kube::Request ours =
      kube::EvictionRequest({metadata.at("namespace"), metadata.at("name")}, 30);
  CompareWrite("method", request.at("method"), ours.method, report);
  CompareWrite("path", request.at("path"), ours.path, report);
  CompareWrite("content type", request.at("headers").value("Content-Type", ""), ours.content_type,
               report);
  Json sent = Json::parse(ours.body);
  sent.erase("deleteOptions");  // a grace period of our own
  CompareWrite("body", body.dump(), sent.dump(), report);
}

// A protobuf body that we read and write again is the same bytes but for what we do not keep, and
// the server kept its spec.
void PutLease(const std::string& sent, const std::string& answered, Report& report) {
  const auto request = wire::FromEnvelope<model::Lease>(sent);
  const auto answer = wire::FromEnvelope<model::Lease>(answered);
  if (!request.ok() || !answer.ok()) return report.Unreadable("a Lease that we cannot read");
  if (!(request->spec == answer->spec)) {
    report.Differs("spec", wire::ToJson(*answer), wire::ToJson(*request));
  }
  const auto again = wire::FromEnvelope<model::Lease>(wire::ToEnvelope(*request));
  if (!again.ok() || !(*again == *request)) report.Differs("lease", "the same", "another");
}

void Patch(const std::string& name, const Json& patch, const std::string& answered,
           Report& report) {
  const auto node = wire::FromEnvelope<model::Node>(answered);
  if (!node.ok()) return report.Differs("node", "readable", node.status().ToString());
  const Json now = Json::parse(wire::ToJson(*node));
  if (name == "patch/json") {
    for (const Json& step : patch) {
      const Json::json_pointer at(step.at("path").get<std::string>());
      CompareWrite(step.at("path"), step.at("value").dump(),
                   now.contains(at) ? now.at(at).dump() : "absent", report);
    }
    return;
  }
  if (const std::string difference = NotInTheirs(patch, now); !difference.empty())
    report.Differs("patched node", patch.dump(), difference);
  if (name != "patch/strategic") return;
  // The taint, put there by our own way: onto the node without it.
  Json before = now;
  before["spec"].erase("taints");
  cluster::NodeChange change;
  for (const Json& taint : patch.at("spec").at("taints")) {
    change.add_taints.push_back(
        {.key = taint.at("key"), .value = taint.at("value"), .effect = taint.at("effect")});
  }
  const auto edited = kube::EditNode(before.dump(), change);
  if (!edited.ok() || !edited->has_value())
    return report.Differs("our edit", "a changed node", "nothing");
  CompareWrite("our edit", now.dump(), Json::parse(**edited).dump(), report);
}

void Answer(const Json& c, const std::string& body, Report& report) {
  const int status = c.at("status");
  const auto object = wire::OpenEnvelope(body);
  if (!object.ok()) return report.Differs("answer", "readable", object.status().ToString());
  if (object->kind != "Status") return;
  const auto told = wire::FromEnvelope<model::ApiStatus>(body);
  if (!told.ok()) return report.Differs("Status", "readable", told.status().ToString());
  CompareWrite("code", std::to_string(status), std::to_string(told->code), report);
  CompareWrite("status", status < 400 ? "Success" : "Failure", told->status, report);
  if (status < 400) return;
  const wire::ApiError error =
      wire::ErrorFromAnswer(status, c.at("headers").value("Content-Type", ""), "", body);
  const Code expected = status == 429 ? Code::kResourceExhausted : Code::kAborted;
  CompareWrite("our code", std::string(ToString(expected)), std::string(ToString(error.code())),
               report);
  if (status == 429) {
    CompareWrite("cause", "DisruptionBudget",
                 error.HasCause("DisruptionBudget") ? "DisruptionBudget" : "none", report);
  }
}

}  // namespace

void writes(const Json& c, Report& report) {
  const std::string name = c.at("name");
  const Json& request = c.at("request");
  const std::string sent = BodyOf(request);
  const std::string answered = BodyOf(c);
  Answer(c, answered, report);
  if (name == "put-protobuf/lease") return PutLease(sent, answered, report);
  const Json body = Json::parse(sent);
  if (name.starts_with("eviction/")) Eviction(request, body, report);
  if (name.starts_with("patch/")) Patch(name, body, answered, report);
}

}  // namespace coppice::replay
