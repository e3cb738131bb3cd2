// Opening: what an extender was shown when the last session began, and what is different now.
//
// Remembered is a number per object, made of its text; of two texts with the same number the second
// would not be sent, which happens once in 2^64. Only what an extender has answered counts as shown.
// One session at a time.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace coppice::batch::extender {

class Opening {
 public:
  enum class Kind : uint8_t { kJobs, kNodes, kQueues, kNamespaces };

  // A session begins, and everything that it has is added; then Take() is its body: all of it, or
  // with "Base" only what is new, has changed or is gone since the session of that name began.
  void Begin(std::string_view session);
  void Add(Kind kind, std::string_view name, std::string text);
  std::string Take();

  void Heard() { base_ = session_; }  // the extender has it
  void Forget();                      // it has not, or no longer: the next one shows everything
  bool is_delta() const { return !base_.empty(); }

 private:
  static constexpr size_t kKinds = 4;
  using Shown = std::map<std::string, uint64_t, std::less<>>;

  std::string base_;  // empty: everything is shown
  std::string session_;
  std::array<Shown, kKinds> shown_;  // of base_
  std::array<Shown, kKinds> now_;
  std::array<std::map<std::string, std::string>, kKinds> texts_;  // to be sent
};

}  // namespace coppice::batch::extender
