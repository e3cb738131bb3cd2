// Where loads of nodes come from: Prometheus, asked now and then on a thread of its own.
//
// A session takes what is there and never waits; the first one of a process finds nothing. Samples
// older than five minutes are as good as none. Any thread.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/pool.h"
#include "base/status.h"

namespace coppice::batch::usage {

// Averages of the last ten minutes, in percent.
struct Load {
  double cpu = 0;
  double memory = 0;
};
struct Samples {
  TimePoint taken{};
  std::map<std::string, Load, std::less<>> nodes;
};
using Fetch = std::function<Result<std::map<std::string, Load, std::less<>>>()>;

class Source {
 public:
  // `workers` outlive it, or run nothing of it after its end.
  Source(Fetch fetch, std::shared_ptr<Workers> workers);

  // What is known. Has it fetched anew if the last time is `interval` ago.
  std::shared_ptr<const Samples> Latest(TimePoint now, Duration interval);
  Status last_error() const;  // of the last fetch

 private:
  struct State {
    mutable std::mutex mutex;
    Fetch fetch;
    std::shared_ptr<const Samples> samples = std::make_shared<const Samples>();
    std::optional<TimePoint> asked;
    bool under_way = false;
    Status last_error;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  const std::shared_ptr<Workers> workers_;
};

// From `address` (http://prometheus:9090), two questions for all nodes. Series are told apart by
// their label `instance`, which has to be the node's name, as it has to be for Volcano.
Result<Fetch> FromPrometheus(const std::string& address, const std::string& ca_file);

// The values of an instant query's answer by the label `instance`.
Result<std::map<std::string, double>> ReadVector(std::string_view answer);

}  // namespace coppice::batch::usage
