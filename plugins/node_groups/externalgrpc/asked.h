// Asked<T>: answers to questions that cannot all be known ahead, such as which group a node belongs
// to that no group lists.
//
// A read never asks: it finds the last answer, and notes a question that has none yet for whoever
// may wait (Refresh, LearnPrices). An answer is good until the next Refresh (a "generation") or for
// a time to live, and is asked for again as long as somebody wants it. A failed answer is kept as
// well: nobody asks a broken provider again for every node. A good answer outlives the failures
// after it. Any thread; the lock is never held while the provider is asked.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
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
};

struct Question {
  std::string key;
  std::string request;
  bool first = true;  // nobody has an answer to it yet
};

template <class T>
class Asked {
 public:
  // The last good answer, or why there is none; nullopt: it has not been asked.
  std::optional<Result<T>> Find(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto it = entries_.find(key);
    if (it == entries_.end() || !it->second.asked) return std::nullopt;
    return AnswerOf(it->second);
  }

  // The same, and from now on it is wanted. `request` is made for a question that is new or whose
  // subject has become another `version`.
  std::optional<Result<T>> Want(const std::string& key, std::string_view version,
                                uint64_t generation, const std::function<std::string()>& request) {
    const std::lock_guard lock(mutex_);
    Entry* entry = EntryOf(key, generation);
    if (entry == nullptr) return std::nullopt;
    entry->used = std::max(entry->used, generation);
    if (!entry->request || entry->version != version) {
      entry->request = request();
      entry->version = version;
    }
    if (!entry->asked) return std::nullopt;
    return AnswerOf(*entry);
  }

  // What somebody wanted since the last Refresh and what is too old for the one that starts now.
  // What has waited longest comes first, so that a slow provider gets round to all of it.
  std::vector<Question> Due(const Moment& moment) const {
    std::vector<std::pair<TimePoint, Question>> due;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [key, entry] : entries_) {
        if (entry.request && entry.used + 1 >= moment.generation &&
            moment.now >= GoodUntil(entry, moment.ttl)) {
          due.emplace_back(entry.asked ? entry.at : TimePoint::min(),
                           Question{key, *entry.request, !entry.asked});
        }
      }
    }
    std::ranges::sort(due, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second.key < b.second.key;
    });
    std::vector<Question> questions;
    questions.reserve(due.size());
    for (auto& [at, question] : due) questions.push_back(std::move(question));
    return questions;
  }

  bool Fresh(const std::string& key, const Moment& moment) const {
    const std::lock_guard lock(mutex_);
    const auto it = entries_.find(key);
    return it != entries_.end() && it->second.asked &&
           (it->second.generation >= moment.generation ||
            moment.now < GoodUntil(it->second, moment.ttl));
  }

  void Put(const std::string& key, Result<T> answer, uint64_t generation, TimePoint now) {
    const std::lock_guard lock(mutex_);
    Entry* entry = EntryOf(key, generation);
    if (entry == nullptr) return;
    entry->asked = true;
    entry->at = now;
    entry->generation = std::max(entry->generation, generation);
    entry->failure = answer.status();
    if (answer.ok()) entry->value = std::move(answer).value();
  }

  // Forgets what nobody has wanted for two generations.
  void Prune(uint64_t generation) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const auto& item) { return item.second.used + 2 < generation; });
  }

  // So that the next `answers` are kept, whatever has to go for them.
  void MakeRoom(size_t answers) {
    const std::lock_guard lock(mutex_);
    if (entries_.size() + answers > kMost) entries_.clear();
  }

  size_t size() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  struct Entry {
    std::optional<std::string> request;
    std::string version;     // of what the request was made of
    std::optional<T> value;  // the last good one
    Status failure;          // of the newest attempt
    bool asked = false;
    TimePoint at;             // of the newest attempt
    uint64_t generation = 0;  // in which that was
    uint64_t used = 0;
  };
  // Nodes come and go, and prices have many keys: what is not bounded grows for ever.
  static constexpr size_t kMost = 100'000;

  // Null: there is no room, so it stays unknown.
  Entry* EntryOf(const std::string& key, uint64_t generation) {
    const auto known = entries_.find(key);
    if (known != entries_.end()) return &known->second;
    if (entries_.size() >= kMost) {
      std::erase_if(entries_, [&](const auto& item) { return item.second.used < generation; });
      if (entries_.size() >= kMost) return nullptr;
    }
    Entry& entry = entries_[key];
    entry.used = generation;
    return &entry;
  }
  static TimePoint GoodUntil(const Entry& entry, Duration ttl) {
    if (!entry.asked) return TimePoint::min();
    if (entry.failure.ok()) return Later(entry.at, ttl);
    return entry.failure.code() == Code::kUnimplemented ? Later(entry.at, kUnimplementedTtl)
                                                        : entry.at;
  }
  static Result<T> AnswerOf(const Entry& entry) {
    if (entry.value && entry.failure.code() != Code::kUnimplemented) return *entry.value;
    return entry.failure;
  }

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace coppice::node_groups::externalgrpc
