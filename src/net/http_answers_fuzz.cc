// The bytes of a server's answers, whole and in pieces of a size that the first byte says: the answers are the same, within the limits,
// and nothing is read behind one that is wrong.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "net/http_answers.h"

namespace coppice::net {
namespace {

constexpr AnswerLimits kLimits{.body_bytes = 500, .header_bytes = 2'000};

std::vector<HttpAnswers::Next> All(std::string_view bytes, size_t piece) {
  HttpAnswers answers(kLimits);
  std::vector<HttpAnswers::Next> all;
  while (!bytes.empty()) {
    answers.Add(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      HttpAnswers::Next next = answers.Take();
      if (next.state == HttpAnswers::State::kMore) break;
      CHECK(next.response.body.size() <= kLimits.body_bytes);
      const bool wrong = next.state == HttpAnswers::State::kWrong;
      all.push_back(std::move(next));
      if (wrong) return all;
    }
  }
  return all;
}

}  // namespace
}  // namespace coppice::net

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice::net;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = All(bytes, bytes.size() + 1);
  const auto pieces = All(bytes, 1 + data[0] % 64);
  CHECK(whole.size() == pieces.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    CHECK(whole[i].state == pieces[i].state);
    CHECK(whole[i].response.status == pieces[i].response.status);
    CHECK(whole[i].response.body == pieces[i].response.body);
    CHECK(whole[i].keep_alive == pieces[i].keep_alive);
  }
  return 0;
}
