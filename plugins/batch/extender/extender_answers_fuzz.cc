// Whatever an extender answers, it is read or refused.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugins/batch/extender/answers.h"
#include "plugins/batch/extender/go_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice::batch::extender;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  (void)ReadPredicate(body);
  (void)ReadBatchPredicate(body);
  (void)ReadPrioritize(body);
  (void)ReadVictims(body);
  (void)ReadVote(body);
  (void)ReadOverused(body);
  (void)ReadReady(body);
  (void)ReadErrorMessage(body);
  (void)ReadBindError(body);
  (void)ReadResend(body);
  // What was written once is not changed by writing it again.
  if (const auto once = AsGoWrites(body)) {
    if (AsGoWrites(*once) != once) __builtin_trap();
  }
  return 0;
}
