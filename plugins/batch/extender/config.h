// What volcano-scheduler.conf says about one extender, in either of its two forms: today's
// `extender` plug-in with arguments `extender.urlPrefix`, ..., or an entry of the top-level list
// `extenders` with urlPrefix, ... . Keys and their readings are the same.

#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "batch/arguments.h"
#include "model/pod.h"

namespace coppice::batch::extender {

enum class Verb : uint8_t {
  kSessionOpen,
  kSessionClose,
  kPredicate,
  kPrioritize,
  kPreemptable,
  kReclaimable,
  kQueueOverused,
  kJobEnqueueable,
  kJobEnqueued,
  kJobReady,
  kAllocate,
  kDeallocate,
  kBatchPredicate,  // ours: all nodes of a task in one call
  kBind,            // ours: puts a pod on its node
};
inline constexpr size_t kVerbs = 14;
inline constexpr size_t kUpstreamVerbs = 12;
std::string_view KeyOf(Verb verb);  // "predicateVerb"

struct Config {
  std::string url_prefix;
  Duration timeout = std::chrono::seconds(1);  // zero and below: none
  std::array<std::string, kVerbs> verbs;       // empty: not called
  bool ignorable = false;
  std::set<std::string> managed_resources;  // empty: all tasks are of interest

  // ---- Beyond upstream, all off unless named.
  double weight = 1;      // of its scores
  bool compact = false;   // bodies after the opening name objects instead of showing them
  bool delta = false;     // openings show what has changed since the last one
  std::string ca_file;    // PEM: whom to trust
  std::string cert_file;  // PEM: who we are, with key_file
  std::string key_file;
  std::string token_file;        // sent as a bearer token; read anew for every session
  int64_t breaker_failures = 5;  // in a row; then no call is made for a while. 0: never
  Duration breaker_pause = std::chrono::seconds(10);

  const std::string& verb(Verb which) const { return verbs[static_cast<size_t>(which)]; }
  bool Has(Verb which) const { return !verb(which).empty(); }
  // Whether one of the task's containers names a managed resource, with whatever amount.
  bool Interests(const model::Pod& pod) const;
};

// `prefix` stands before every key: "extender." or nothing. With `upstream_keys` what upstream does
// not know is not read. An error: what ends upstream's process, managed resources that are not a
// list of texts; or a file without its other half. Without a prefix, so in the list, which upstream
// does not have, also a key that nobody knows and a value that cannot be read; there a time may be
// a number of nanoseconds, as Go's are.
Result<Config> ReadConfig(const Arguments& arguments, std::string_view prefix, bool upstream_keys);

}  // namespace coppice::batch::extender
