#include "sim/agenda.h"

#include <utility>

namespace coppice::sim {

void Agenda::At(TimePoint when, std::function<void()> what) {
  entries_.push({when, next_number_++, std::move(what)});
}

std::optional<TimePoint> Agenda::next() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.top().when;
}

void Agenda::RunDue() {
  while (!entries_.empty() && entries_.top().when <= Now()) {
    // The queue has no way to move out of its top; the function is the only thing worth moving.
    const std::function<void()> what = std::move(const_cast<Entry&>(entries_.top()).what);
    entries_.pop();
    what();
  }
}

}  // namespace coppice::sim
