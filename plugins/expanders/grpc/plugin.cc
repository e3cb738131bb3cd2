// grpc: somebody else's program chooses, over Cluster Autoscaler's own expander protocol.
//
// What upstream's client does, and where it shows: a call that fails and an answer that names
// nobody we know keep all options, so that the next expander of the chain, or the lot, decides; an
// answer without any option means that nothing shall be bought. Upstream says so at verbosity 4
// only; here it is logged, counted and in the report.

#include <map>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "expand/expander.h"
#include "grpc/channel.h"
#include "grpc/expiry_watch.h"
#include "plugins/expanders/grpc/answer.h"
#include "plugins/expanders/grpc/options.h"
#include "plugins/expanders/grpc/target.h"
#include "rpc/expander_messages.h"

namespace coppice::expanders::grpc {
namespace {

constexpr size_t kUnknownIdsShown = 5;

// Why all options were kept, as the label of a counter.
constexpr char kCallFailed[] = "call_failed";
constexpr char kUnreadable[] = "unreadable_answer";
constexpr char kUnknownGroups[] = "unknown_groups";

std::string Some(const std::vector<std::string>& ids) {
  std::vector<std::string> quoted;
  for (size_t i = 0; i < ids.size() && i < kUnknownIdsShown; ++i)
    quoted.push_back("'" + ids[i] + "'");
  if (ids.size() > kUnknownIdsShown)
    quoted.push_back("and " + std::to_string(ids.size() - kUnknownIdsShown) + " more");
  return Join(quoted, ", ");
}

class GrpcExpander final : public expand::Expander {
 public:
  GrpcExpander(const expand::ExpanderContext& context, const Options& options, std::string target,
               std::shared_ptr<coppice::grpc::CertificateStore> certificates)
      : clock_(context.clock),
        log_(context.log),
        timeout_(options.timeout),
        era_(options.legacy_fields ? rpc::Era::kBoth : rpc::Era::kBytes),
        expiry_(certificates, context.clock, context.log, context.metrics,
                "coppice_grpc_expander_"),
        channel_({.address = std::move(target),
                  .certificates = std::move(certificates),
                  .max_message_bytes = rpc::kExpanderMessageBytes,
                  .max_send_bytes = SIZE_MAX},  // as upstream: the server's limit is the limit
                 context.clock),
        calls_(context.metrics.GetCounter("cluster_autoscaler_grpc_expander_calls_total",
                                          "Questions to the gRPC expander.")),
        seconds_(
            context.metrics.GetHistogram("cluster_autoscaler_grpc_expander_call_duration_seconds",
                                         "How long the gRPC expander took to answer or to fail.",
                                         {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5})),
        empty_(context.metrics.GetCounter("cluster_autoscaler_grpc_expander_empty_answers_total",
                                          "Answers that no option shall be taken.")) {
    for (const char* reason : {kCallFailed, kUnreadable, kUnknownGroups}) {
      fallbacks_[reason] = &context.metrics.GetCounter(
          "cluster_autoscaler_grpc_expander_fallbacks_total",
          "Questions after which all options were kept, by what went wrong.", {{"reason", reason}});
    }
  }

  expand::Options Narrow(const expand::Options& options,
                         const expand::Surroundings& around) override {
    // Asked even when an expander before left nothing: a server may count on hearing of it.
    const auto answer = Ask(options, around);
    if (!answer.ok()) return KeepAll(options, around, kCallFailed, answer.status().ToString());
    const auto groups = rpc::ParseBestOptionsResponse(*answer);
    if (!groups.ok()) return KeepAll(options, around, kUnreadable, groups.status().message());
    if (groups->empty()) {
      empty_.Increment();
      log_.Info("the gRPC expander wants none of the options", {{"options", options.size()}});
      Note(around, "the gRPC expander wants none of the options");
      return {};
    }
    Kept kept = Match(options, *groups);
    if (kept.options.empty()) {
      return KeepAll(options, around, kUnknownGroups,
                     "it named only groups that were not offered: " + Some(kept.unknown));
    }
    if (!kept.unknown.empty()) {
      log_.Warning("the gRPC expander named groups that were not offered",
                   {{"groups", Some(kept.unknown)}});
    }
    return std::move(kept.options);
  }

  bool Blocks() const override { return true; }

 private:
  Result<std::string> Ask(const expand::Options& options, const expand::Surroundings& around) {
    const std::string request =
        TRY(rpc::SerializeBestOptionsRequest(options, around.templates, era_));
    calls_.Increment();
    expiry_.LookSometimes();
    const TimePoint start = clock_.Now();
    auto answer = channel_.Call(rpc::kBestOptions, request, Deadline::In(clock_, timeout_));
    seconds_.Observe(std::chrono::duration<double>(clock_.Now() - start).count());
    return answer;
  }

  expand::Options KeepAll(const expand::Options& options, const expand::Surroundings& around,
                          const char* reason, const std::string& why) {
    fallbacks_.at(reason)->Increment();
    log_.Warning("the gRPC expander did not choose, all options are kept",
                 {{"reason", reason}, {"error", why}, {"options", options.size()}});
    Note(around, "the gRPC expander did not choose, all options are kept: " + why);
    return options;
  }

  static void Note(const expand::Surroundings& around, std::string sentence) {
    if (around.note) around.note(std::move(sentence));
  }

  Clock& clock_;
  const Log& log_;
  const Duration timeout_;
  const rpc::Era era_;
  coppice::grpc::ExpiryWatch expiry_;
  coppice::grpc::Channel channel_;
  Counter& calls_;
  Histogram& seconds_;
  Counter& empty_;
  std::map<std::string, Counter*> fallbacks_;
};

Result<std::unique_ptr<expand::Expander>> Make(const expand::ExpanderContext& context) {
  const Options options = TRY(OptionsFrom(context.settings));
  if (options.cert.empty()) {
    return InvalidArgument(
        "--grpc-expander-cert is not set; give the PEM file with the authority of the expander's "
        "certificate, for it is spoken to over TLS only");
  }
  std::string target = TRY(TargetOf(options.url));
  auto certificates =
      TRY(coppice::grpc::CertificateStore::Open(
              {.ca_file = options.cert, .parts = coppice::grpc::TlsParts::kTrust}, context.log)
              .Context("--grpc-expander-cert"));
  return std::unique_ptr<expand::Expander>(
      std::make_unique<GrpcExpander>(context, options, std::move(target), std::move(certificates)));
}

}  // namespace

void Register(expand::ExpanderRegistry& registry) { registry.Add("grpc", Make); }

}  // namespace coppice::expanders::grpc
