// externalgrpc: what the real Cluster Autoscaler asked its provider, asked again of our server over
// a real gRPC connection. The groups behind it are scripted as the case's description says; every
// answer must decode to the recorded one.
//
// One field is looked at apart: the template also carries the field of autoscalers before 1.34.2,
// which the recorded one does not know, and its node is compared decoded, for the recorder writes
// empty fields.

#include <google/protobuf/message.h>
#include <google/protobuf/util/message_differencer.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "base/pool.h"
#include "cloud/fake_node_groups.h"
#include "externalgrpc.pb.h"
#include "grpc/channel.h"
#include "grpc/server.h"
#include "rpc/node_group_server.h"
#include "test/replay/objects.h"
#include "test/replay/replay.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"
#include "wire/wire.h"

namespace coppice::replay {
namespace {

namespace pb = clusterautoscaler::cloudprovider::v1::externalgrpc;
using google::protobuf::Message;

std::shared_ptr<const model::Node> Template(const std::string& group, const std::string& cpu,
                                            const std::string& memory) {
  const std::string name = "tmpl-" + group;
  model::Node node;
  node.metadata.name = name;
  node.metadata.uid = name;
  node.metadata.creation_timestamp = model::Time{TimePoint(std::chrono::seconds(1'700'000'000))};
  node.metadata.labels = {{"kubernetes.io/hostname", name}, {"pool", "a"}};
  node.metadata.annotations = {{"note", "x"}};
  node.spec.provider_id = "test:///" + name;
  for (auto* amounts : {&node.status.capacity, &node.status.allocatable}) {
    (*amounts)["cpu"] = MUST(model::Quantity::Parse(cpu));
    (*amounts)["memory"] = MUST(model::Quantity::Parse(memory));
    (*amounts)["pods"] = MUST(model::Quantity::Parse("110"));
  }
  node.status.conditions = {
      {.type = "Ready",
       .status = "True",
       .last_transition_time = model::Time{TimePoint(std::chrono::seconds(1'700'000'100))}}};
  return std::make_shared<const model::Node>(std::move(node));
}

// The cluster of each description.
void SetUp(const std::string& name, cloud::FakeNodeGroups& groups) {
  groups.SetGpu("test/gpu", {});
  // The recording provider offered no options.
  groups.Fail("Options", Unimplemented("method NodeGroupGetOptions not implemented"));
  const auto running = [](std::initializer_list<const char*> nodes) {
    std::vector<cloud::Instance> all;
    for (const char* node : nodes) {
      all.push_back(
          {.id = std::string("test:///") + node, .state = cloud::InstanceState::kRunning});
    }
    return all;
  };
  if (name == "externalgrpc/scale-up") {
    groups.Add({.info = {.id = "a", .max_size = 5, .debug = "debug a"},
                .target = 1,
                .instances = running({"a-0"}),
                .node_template = Template("a", "4", "8Gi")});
  } else if (name == "externalgrpc/scale-down") {
    groups.Add({.info = {.id = "a", .max_size = 5, .debug = "debug a"},
                .target = 2,
                .instances = running({"a-0", "a-1"}),
                .node_template = Template("a", "4", "8Gi")});
  } else if (name == "externalgrpc/from-zero") {
    groups.Add({.info = {.id = "zero", .max_size = 3, .debug = "debug zero"},
                .node_template = Template("zero", "8", "16Gi")});
    groups.Add({.info = {.id = "none", .max_size = 3, .debug = "debug none"}});
  } else {
    throw std::runtime_error("no set-up is known for " + name);
  }
}

std::unique_ptr<Message> ParseAnswer(const std::string& path, const std::string& bytes) {
  std::string full = path.substr(1);
  full.replace(full.rfind('/'), 1, ".");
  const auto* method = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(full);
  if (method == nullptr) throw std::runtime_error("no method " + path);
  std::unique_ptr<Message> message(google::protobuf::MessageFactory::generated_factory()
                                       ->GetPrototype(method->output_type())
                                       ->New());
  if (!message->ParseFromString(bytes)) throw std::runtime_error("unreadable answer of " + path);
  return message;
}

void CompareTemplates(const std::string& where, const Message& theirs, const Message& ours,
                      Report& report) {
  const auto& recorded = static_cast<const pb::NodeGroupTemplateNodeInfoResponse&>(theirs);
  const auto& answered = static_cast<const pb::NodeGroupTemplateNodeInfoResponse&>(ours);
  if (answered.nodeinfo() != answered.nodebytes())
    report.Differs(where, "one node", "another node in the older field");
  const model::Node wanted = MUST(wire::FromProto<model::Node>(recorded.nodebytes()));
  const model::Node got = MUST(wire::FromProto<model::Node>(answered.nodebytes()));
  if (!(wanted == got)) report.Differs(where, wire::ToJson(wanted), wire::ToJson(got));
}

class Replayer {
 public:
  explicit Replayer(const Json& c, Report& report) : report_(report) {
    SetUp(c.at("name"), groups_);
    std::vector<grpc::Service> services;
    services.push_back(rpc::NodeGroupService(groups_));
    const std::string listen = "unix:" + dir_.At("s");
    server_ =
        MUST(grpc::Server::Start({.listen = listen}, std::move(services), workers_, clock_, log_));
    channel_ = std::make_unique<grpc::Channel>(grpc::ChannelOptions{.address = listen}, clock_);
  }

  void Play(const Json& call, size_t index) {
    const std::string path = call.at("method");
    const std::string where =
        "call " + std::to_string(index) + " " + path.substr(path.rfind('/') + 1);
    const Json& request = call.at("request");
    // Group none is described as one whose template is not offered.
    const bool offers_none = request.at("json").value("id", "") == "none";
    groups_.Fail("Template", offers_none ? Unimplemented("no template") : Status::Ok());
    const auto answer = channel_->Call(path, FromHex(request.at("hex")),
                                       Deadline::In(clock_, std::chrono::seconds(5)));
    if (call.contains("error")) {
      const std::string theirs = call.at("error").at("code").get<std::string>() + ": " +
                                 call.at("error").at("message").get<std::string>();
      if (answer.status().ToString() != theirs)
        report_.Differs(where, theirs, answer.status().ToString());
      return;
    }
    if (!answer.ok()) return report_.Differs(where, "an answer", answer.status().ToString());
    const auto theirs = ParseAnswer(path, FromHex(call.at("response").at("hex")));
    const auto ours = ParseAnswer(path, *answer);
    if (path.ends_with("/NodeGroupTemplateNodeInfo"))
      return CompareTemplates(where, *theirs, *ours, report_);
    if (!google::protobuf::util::MessageDifferencer::Equals(*theirs, *ours)) {
      report_.Differs(where, theirs->ShortDebugString(), ours->ShortDebugString());
    }
  }

 private:
  Report& report_;
  test::TempDirectory dir_;
  SystemClock clock_;
  Log log_ = Log::Null();
  Pool workers_{2, 16};
  cloud::FakeNodeGroups groups_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::Channel> channel_;
};

}  // namespace

void externalgrpc(const Json& c, Report& report) {
  Replayer replayer(c, report);
  size_t index = 0;
  for (const Json& call : c.at("calls")) replayer.Play(call, index++);
}

}  // namespace coppice::replay
