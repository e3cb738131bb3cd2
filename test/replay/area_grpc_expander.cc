// grpc-expander: what the real Cluster Autoscaler asked a gRPC expander, and what it made of the
// answer. Our client is offered the same options over a real TLS connection, hears the recorded
// answer, must have made an equal request and keep the same options. Our server must understand the
// recorded bytes as those same options.
//
// Pods and nodes are compared decoded, for the recorder also writes fields that we do not keep.

#include <memory>
#include <stdexcept>
#include <string>

#include "base/pool.h"
#include "expand/chain.h"
#include "expander.pb.h"
#include "grpc/server.h"
#include "rpc/expander_messages.h"
#include "rpc/expander_server.h"
#include "test/replay/objects.h"
#include "test/replay/parts.h"
#include "test/replay/replay.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::replay {
namespace {

Status FailureOf(const Json& error) {
  const std::string name = error.at("code");
  if (name == "Canceled") return {Code::kCancelled, error.value("message", "")};  // Go's spelling
  for (int code = 1; code <= 16; ++code) {
    if (ToString(static_cast<Code>(code)) == name)
      return {static_cast<Code>(code), error.value("message", "")};
  }
  throw std::runtime_error("no status code " + name);
}

struct CaseOptions {
  std::deque<model::Pod> pods;
  std::deque<model::Node> nodes;
  std::deque<expand::Option> options;
  rpc::GroupTemplates templates;

  explicit CaseOptions(const Json& c) {
    const Json given = c.value("nodes", Json::object());
    for (const auto& [group, node] : given.items())
      templates.emplace_back(group, &nodes.emplace_back(Object<model::Node>(node)));
    for (const Json& json : c.at("options")) {  // null: none
      expand::Option& option = options.emplace_back();
      option.group = json.at("group");
      option.node_count = json.value("nodeCount", 0);
      option.debug = json.value("debug", "");
      for (const Json& pod : json.value("pods", Json::array()))
        option.pods.push_back(&pods.emplace_back(Object<model::Pod>(pod)));
    }
  }
  expand::Options all() const {
    expand::Options list;
    for (const auto& option : options) list.push_back(&option);
    return list;
  }
};

template <class T>
void CompareObjects(const std::string& where, const std::string& theirs, const std::string& ours,
                    Report& report) {
  if (theirs == ours) return;
  const auto wanted = wire::FromProto<T>(theirs);
  const auto got = wire::FromProto<T>(ours);
  if (!wanted.ok()) return report.Unreadable(where + ": " + wanted.status().ToString());
  if (!got.ok()) return report.Differs(where, "an object", got.status().ToString());
  if (!(*wanted == *got)) report.Differs(where, wire::ToJson(*wanted), wire::ToJson(*got));
}

void CompareRequests(const grpcplugin::BestOptionsRequest& theirs,
                     const grpcplugin::BestOptionsRequest& ours, Report& report) {
  if (theirs.options_size() != ours.options_size()) {
    return report.Differs("options", std::to_string(theirs.options_size()),
                          std::to_string(ours.options_size()));
  }
  for (int i = 0; i < theirs.options_size(); ++i) {
    const auto& a = theirs.options(i);
    const auto& b = ours.options(i);
    const std::string where = "option " + std::to_string(i);
    if (a.nodegroupid() != b.nodegroupid() || a.nodecount() != b.nodecount() ||
        a.debug() != b.debug() || a.pod_size() != b.pod_size() ||
        a.podbytes_size() != b.podbytes_size()) {
      report.Differs(where, a.ShortDebugString(), b.ShortDebugString());
      continue;
    }
    for (int p = 0; p < a.podbytes_size(); ++p) {
      CompareObjects<model::Pod>(where + ", pod " + std::to_string(p), a.podbytes(p), b.podbytes(p),
                                 report);
    }
  }
  if (theirs.nodemap_size() != ours.nodemap_size() ||
      theirs.nodebytesmap_size() != ours.nodebytesmap_size()) {
    report.Differs("nodes", std::to_string(theirs.nodebytesmap_size()),
                   std::to_string(ours.nodebytesmap_size()));
  }
  for (const auto& [group, node] : theirs.nodebytesmap()) {
    const auto it = ours.nodebytesmap().find(group);
    if (it == ours.nodebytesmap().end()) {
      report.Differs("node of " + group, "is there", "is not");
    } else {
      CompareObjects<model::Node>("node of " + group, node, it->second, report);
    }
  }
}

// Answers as recorded and keeps what it was asked.
class Recorder {
 public:
  Recorder(const Json& call, const Log& log) {
    const test::PemPair pair = authority_.Issue("expander", {"127.0.0.1"});
    ca_ = dir_.Write("ca.crt", authority_.pem());
    auto certificates =
        MUST(grpc::CertificateStore::Open({.cert_file = dir_.Write("tls.crt", pair.cert),
                                           .key_file = dir_.Write("tls.key", pair.key),
                                           .parts = grpc::TlsParts::kIdentity},
                                          log));
    std::vector<grpc::Service> services;
    services.push_back({.name = rpc::kExpanderService,
                        .methods = {{.name = "BestOptions",
                                     .handler = [this, &call](const grpc::Call& c) -> grpc::Answer {
                                       asked.emplace_back(c.request);
                                       if (call.contains("error"))
                                         return FailureOf(call.at("error"));
                                       return FromHex(call.at("response").at("hex"));
                                     },
                                     .waits = true}}});
    server_ =
        MUST(grpc::Server::Start({.listen = "127.0.0.1:0", .certificates = std::move(certificates)},
                                 std::move(services), workers_, clock_, log));
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(server_->port()); }
  const std::string& ca() const { return ca_; }

  std::vector<std::string> asked;

 private:
  SystemClock clock_;
  test::TestAuthority authority_;
  test::TempDirectory dir_;
  std::string ca_;
  Pool workers_{1, 4};
  std::unique_ptr<grpc::Server> server_;
};

void AskOurServer(const std::string& bytes, const CaseOptions& options,
                  const expand::ExpanderContext& context, Report& report) {
  const auto offered = rpc::ParseBestOptionsRequest(bytes);
  if (!offered.ok()) return report.Differs("our server", "a request", offered.status().ToString());
  const auto& got = (*offered)->options;
  if (got.size() != options.options.size()) {
    return report.Differs("our server", std::to_string(options.options.size()) + " options",
                          std::to_string(got.size()));
  }
  for (size_t i = 0; i < got.size(); ++i) {
    const expand::Option& wanted = options.options[i];
    bool same = got[i].group == wanted.group && got[i].node_count == wanted.node_count &&
                got[i].debug == wanted.debug && got[i].pods.size() == wanted.pods.size();
    for (size_t p = 0; same && p < wanted.pods.size(); ++p)
      same = *got[i].pods[p] == *wanted.pods[p];
    if (!same)
      report.Differs("our server, option " + std::to_string(i), wanted.group, got[i].group);
  }
  auto chain = MUST(expand::Chain::Create({"most-pods"}, ThePlugins().expanders, context));
  const grpc::Service service = rpc::ExpanderService({.chain = chain, .log = context.log});
  const grpc::Answer answer = service.methods.at(0).handler({.request = bytes});
  const auto groups = answer.status.ok() ? rpc::ParseBestOptionsResponse(answer.bytes.view())
                                         : Result<std::vector<std::string>>(answer.status);
  if (!groups.ok() || groups->empty() != got.empty())
    report.Differs("our server", "an answer", groups.ok() ? "none" : groups.status().ToString());
}

}  // namespace

void grpc_expander(const Json& c, Report& report) {
  SystemClock clock;
  SeededRng rng(1);
  Metrics metrics;
  const Log log = Log::Null();
  const CaseOptions options(c);
  const Json& call = c.at("calls").at(0);
  Recorder recorder(call, log);
  const expand::ExpanderContext context{.clock = clock,
                                        .rng = rng,
                                        .log = log,
                                        .metrics = metrics,
                                        .settings = {{"grpc-expander-url", recorder.address()},
                                                     {"grpc-expander-cert", recorder.ca()}}};
  const auto client = MUST(ThePlugins().expanders.Make("grpc", context));
  expand::Surroundings around;
  around.templates = options.templates;
  Json survivors = Json::array();
  for (const expand::Option* option : client->Narrow(options.all(), around))
    survivors.push_back(option->group);
  const Json their_survivors = c.at("survivors").is_null() ? Json::array() : c.at("survivors");
  if (survivors != their_survivors)
    report.Differs("survivors", their_survivors.dump(), survivors.dump());
  if (recorder.asked.size() != c.at("calls").size()) {
    return report.Differs("calls", std::to_string(c.at("calls").size()),
                          std::to_string(recorder.asked.size()));
  }
  const std::string bytes = FromHex(call.at("request").at("hex"));
  grpcplugin::BestOptionsRequest theirs;
  grpcplugin::BestOptionsRequest ours;
  if (!theirs.ParseFromString(bytes)) return report.Unreadable("the recorded request");
  if (!ours.ParseFromString(recorder.asked[0]))
    return report.Differs("request", "a message", "something unreadable");
  CompareRequests(theirs, ours, report);
  AskOurServer(bytes, options, context, report);
}

}  // namespace coppice::replay
