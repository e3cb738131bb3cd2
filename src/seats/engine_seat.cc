#include "seats/engine_seat.h"

namespace coppice::seats {

cloud::Gate ProcessParts::CloudGate() const {
  cloud::Gate gate;
  gate.dry_run = flags.dry_run;
  gate.changes = &changes;
  if (kube::LeaderLease* lease = server.lease(); lease != nullptr) {
    gate.may_change = [lease] { return lease->MayWrite(); };
    gate.within = [lease](Deadline by) { return lease->Within(by); };
  }
  return gate;
}

bool EngineKinds::IsCustom(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view group = api_version.substr(0, slash);
  return group.find('.') != std::string_view::npos && !group.ends_with(".k8s.io");
}

Result<std::string> ExplainAll(const std::vector<std::unique_ptr<EngineSeat>>& seats,
                               const net::ServerRequest& request, std::string of_all) {
  std::vector<std::pair<std::string, Result<std::string>>> answers;
  for (const auto& seat : seats) {
    if (auto answer = seat->Explain(request))
      answers.emplace_back(seat->engine().name(), *std::move(answer));
  }
  std::string text = std::move(of_all);
  for (const auto& [name, answer] : answers) {
    if (!answer.ok()) continue;
    if (answers.size() > 1) text += name + ":\n";
    text += *answer;
    if (!text.ends_with('\n')) text += '\n';
  }
  if (!text.empty()) return text;
  if (answers.empty())
    return InvalidArgument("no engine of this process has an answer to such a question");
  // Nobody knows it: the first to be asked says so.
  return answers.front().second;
}

}  // namespace coppice::seats
