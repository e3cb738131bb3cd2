// `coppice conform extender`: the batch scheduler's HTTP extender contract, played against somebody's
// server, as Volcano's client and ours ask. Nothing is scheduled: objects are made up.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/secret.h"
#include "conform/report.h"
#include "conform/rules.h"
#include "net/http_client.h"

namespace coppice::conform {

struct ExtenderOptions {
  PlayOptions play{.contract = "extender"};
  std::string url_prefix;                      // as extender.urlPrefix
  Duration timeout = std::chrono::seconds(1);  // extender.httpTimeout's default
  Secret token;                                // sent as a bearer token; empty: none
  // The path of a verb where it is not the verb's own name: {"predicate", "filter"}. An empty path
  // leaves the verb out.
  std::map<std::string, std::string> verbs;
  size_t session_bytes = size_t{16} << 20;  // of the rule large-session
};

// An answer above this is none.
inline constexpr size_t kMostAnswerBytes = 10 << 20;

std::vector<RuleText> ExtenderRules();
std::vector<std::string> ExtenderVerbs();
// `client` outlives the call.
Report TryExtender(const ExtenderOptions& options, net::HttpClient& client, Clock& clock);

}  // namespace coppice::conform
