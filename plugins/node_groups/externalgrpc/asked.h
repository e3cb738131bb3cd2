// Asked<Question, T>: answers to questions that cannot all be known ahead, such as which group a
// node belongs to that no group lists.
//
// Asked once, kept until the next Refresh (a "generation") or for a time to live, asked again by
// that Refresh if somebody still wants it, together with all others and so in parallel. A failed
// answer is kept as well: nobody asks a broken provider again for every node. A good answer
// outlives the failures after it. Any thread; two who want the same wait for one call.

#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "plugins/node_groups/externalgrpc/remote.h"

namespace coppice::node_groups::externalgrpc {

struct Moment {
  uint64_t generation = 0;
  TimePoint now;
  Duration ttl = Duration::zero();  // zero: good until the next Refresh
  // OK: the provider may be asked now; else why not, and it is asked in the next Refresh.
  Status may_ask;
};

template <class Question, class T>
class Asked {
 public:
  using Ask = std::function<Result<T>(const Question&)>;

  Result<T> Get(const std::string& key, const std::function<Question()>& question,
                const Moment& moment, const Ask& ask) {
    std::unique_lock lock(mutex_);
    Entry& entry = EntryOf(key, moment.generation);
    entry.used = std::max(entry.used, moment.generation);
    const Pin pin(entry);  // let go under the lock, which is held again at every return
    done_.wait(lock, [&] { return !entry.asking; });  // whoever asks has a deadline
    if (Fresh(entry, moment)) return AnswerOf(entry);
    entry.question = question();
    if (!moment.may_ask.ok()) {
      if (entry.value) return *entry.value;
      return moment.may_ask;
    }
    entry.asking = true;
    const Question asked = *entry.question;
    lock.unlock();
    Result<T> answer = ask(asked);
    lock.lock();
    entry.asking = false;
    Take(entry, std::move(answer), moment.generation, moment.now);
    done_.notify_all();
    return AnswerOf(entry);
  }

  // What somebody wanted since the last Refresh and what is too old for the one that starts now.
  std::vector<std::pair<std::string, Question>> Due(const Moment& moment) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<std::string, Question>> due;
    for (const auto& [key, entry] : entries_) {
      if (entry.question && !entry.asking && entry.used + 1 >= moment.generation &&
          moment.now >= GoodUntil(entry, moment.ttl)) {
        due.emplace_back(key, *entry.question);
      }
    }
    return due;
  }

  void Put(const std::string& key, Result<T> answer, uint64_t generation, TimePoint now) {
    const std::lock_guard lock(mutex_);
    Take(EntryOf(key, generation), std::move(answer), generation, now);
  }

  // Forgets what nobody has wanted for two generations.
  void Prune(uint64_t generation) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const auto& item) {
      return item.second.pins == 0 && item.second.used + 2 < generation;
    });
  }

  size_t size() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  struct Entry {
    std::optional<Question> question;
    std::optional<T> value;  // the last good one
    Status failure;          // of the newest attempt
    bool asked = false;
    TimePoint at;             // of the newest attempt
    uint64_t generation = 0;  // in which that was
    uint64_t used = 0;
    bool asking = false;
    int pins = 0;  // callers that hold a reference
  };
  struct Pin {
    explicit Pin(Entry& of) : entry(of) { ++entry.pins; }
    ~Pin() { --entry.pins; }
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;
    Entry& entry;
  };
  // Nodes come and go, and prices have many keys: what is not bounded grows for ever.
  static constexpr size_t kMost = 100'000;

  Entry& EntryOf(const std::string& key, uint64_t generation) {
    if (entries_.size() >= kMost && !entries_.contains(key)) {
      std::erase_if(entries_, [](const auto& item) { return item.second.pins == 0; });
    }
    const auto [it, added] = entries_.try_emplace(key);
    if (added) it->second.used = generation;
    return it->second;
  }
  static TimePoint GoodUntil(const Entry& entry, Duration ttl) {
    if (!entry.asked) return TimePoint::min();
    if (entry.failure.ok()) return Later(entry.at, ttl);
    return entry.failure.code() == Code::kUnimplemented ? Later(entry.at, kUnimplementedTtl)
                                                        : entry.at;
  }
  static bool Fresh(const Entry& entry, const Moment& moment) {
    return entry.asked &&
           (entry.generation >= moment.generation || moment.now < GoodUntil(entry, moment.ttl));
  }
  static Result<T> AnswerOf(const Entry& entry) {
    if (entry.value && entry.failure.code() != Code::kUnimplemented) return *entry.value;
    return entry.failure;
  }
  static void Take(Entry& entry, Result<T> answer, uint64_t generation, TimePoint now) {
    entry.asked = true;
    entry.at = now;
    entry.generation = std::max(entry.generation, generation);
    entry.failure = answer.status();
    if (answer.ok()) entry.value = std::move(answer).value();
  }

  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::unordered_map<std::string, Entry> entries_;  // its entries stay where they are
};

}  // namespace coppice::node_groups::externalgrpc
