// Events as the peers write them: the same thing said again counts up instead of filling the list,
// ten different things said about one object for one reason become one, and an object is spoken
// about once in five minutes for a reason.
//
// EventCorrelator decides (client-go's rules with upstream's settings) and is pure; EventSender
// writes, one at a time, with a rate limit of its own so that a thousand events do not hold up an
// eviction. An event that cannot be written is dropped and counted.

#pragma once

#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/log.h"
#include "cluster/writer.h"
#include "kube/client.h"

namespace coppice::kube {

// Keeps the `capacity` entries that were used last.
template <class V>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(size_t capacity) : capacity_(capacity) {}
  // The entry of that key, made if absent; it is now the freshest.
  V& operator[](const std::string& key) {
    const auto it = by_key_.find(key);
    if (it != by_key_.end()) {
      order_.splice(order_.begin(), order_, it->second);
      return it->second->second;
    }
    order_.emplace_front(key, V());
    by_key_[key] = order_.begin();
    if (order_.size() > capacity_) {
      by_key_.erase(order_.back().first);
      order_.pop_back();
    }
    return order_.front().second;
  }
  size_t size() const { return order_.size(); }

 private:
  size_t capacity_;
  std::list<std::pair<std::string, V>> order_;
  std::unordered_map<std::string, typename std::list<std::pair<std::string, V>>::iterator> by_key_;
};

// What is to be written.
struct EventRecord {
  cluster::Event event;  // the text may be the aggregated one
  std::string name;      // of the Event object
  int count = 1;         // above 1: the object is there already and is patched
  TimePoint first;
  TimePoint last;
};

class EventCorrelator {
 public:
  // `duplicates`: --record-duplicated-events.
  explicit EventCorrelator(bool duplicates) : duplicates_(duplicates) {}
  // What to write, or nothing: it has been said often enough.
  std::optional<EventRecord> Correlate(const cluster::Event& event, TimePoint now);

 private:
  struct Similar {
    std::unordered_set<std::string> texts;
    TimePoint last;
  };
  struct Said {
    int count = 0;
    std::string name;
    TimePoint first;
  };
  struct Tokens {
    std::optional<TimePoint> filled;
    double left = 0;
  };
  bool Allowed(const cluster::Event& event, TimePoint now);

  static constexpr size_t kCapacity = 8192;  // upstream's
  bool duplicates_;
  RecentlyUsed<Similar> similar_{kCapacity};
  RecentlyUsed<Said> said_{kCapacity};
  RecentlyUsed<Tokens> tokens_{kCapacity};
};

std::string EventAsJson(const EventRecord& record);
std::string EventAsPatch(const EventRecord& record);  // strategic merge

class EventSender {
 public:
  EventSender(Client& client, const Log& log, RateLimit limit, bool duplicates);

  void Emit(cluster::Event event);
  void EmitAboutPods(std::vector<cluster::LivePod> pods, cluster::Event what);
  // For ever; spawn it.
  Task<void> Run();
  // Until what was emitted is written, or `deadline`.
  Task<void> Flush(Deadline deadline);

  // Asked before each attempt.
  std::function<Status()> guard;
  uint64_t dropped() const { return dropped_; }

 private:
  // What was said at one moment: of one object, or the same of many pods.
  struct Said {
    TimePoint at;
    cluster::Event event;
    std::vector<cluster::LivePod> pods = {};
    size_t next = 0;  // of the pods
  };
  // The next of them, whole.
  static cluster::Event Next(Said& said);
  // Correlates some of what was said; whether that was all.
  bool SortSome();
  Task<void> Write(EventRecord record);

  static constexpr size_t kMaxQueued = 10'000;
  Client& client_;
  const Log& log_;
  RateLimit limit_;
  EventCorrelator correlator_;
  std::deque<Said> said_;          // as it came
  std::deque<EventRecord> queue_;  // to be written
  bool writing_ = false;
  uint64_t dropped_ = 0;
};

}  // namespace coppice::kube
