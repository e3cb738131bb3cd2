// JSON text, one token at a time. Strict (RFC 8259) but for what stands in texts: bytes that are
// not UTF-8 are taken as they are, and half a surrogate pair becomes U+FFFD as in Go, for one
// object with such a text must not make a whole list unreadable. Bounded in depth, and without an
// index or a tree beside the text: a list of 50 MB is read in place.
//
// Why not simdjson, which the tests compare it with: it wants a padded copy of the text and an
// index beside it, and its on-demand form does not look into values that are skipped. wire_bench
// shows what ours does.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace coppice::wire {

class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  // The first character of the next token; 0 at the end of the text.
  char Peek() {
    SkipSpace();
    return at_ == end_ ? '\0' : *at_;
  }
  // Takes `c` if it is next.
  bool Take(char c) {
    if (Peek() != c || at_ == end_) return false;
    ++at_;
    return true;
  }
  bool AtEnd() {
    SkipSpace();
    return at_ == end_;
  }

  // All readers answer false if the next token is something else or broken; problem() says what.
  // A view is good until the next ReadText.
  bool ReadText(std::string_view& text);
  bool ReadInteger(int64_t& value);
  bool ReadNumber(std::string_view& text);  // as written
  bool ReadBool(bool& value);
  bool TakeNull();  // false without a problem if something else is next
  bool Skip() { return SkipValue(0); }
  // Goes back to `value`, where a value begins, forgets the problem, and steps over it by its
  // quotes and brackets alone: for one that is broken inside. False if these do not match.
  bool SkipLoosely(const char* value);

  // Steps through an object or array: `if (!in.Open('{')) ...; while (in.Next('}')) ...; if
  // (in.failed())`
  bool Open(char bracket);
  bool Next(char bracket, bool& first);
  bool ReadKey(std::string_view& key);  // and its colon

  bool failed() const { return problem_ != nullptr; }
  // "expected a text at byte 17"
  std::string problem() const;

  const char* at() const { return at_; }

 private:
  static constexpr int kMaxDepth = 512;

  void SkipSpace() {
    if (at_ != end_ && static_cast<unsigned char>(*at_) > ' ') [[likely]]
      return;
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  bool Problem(const char* what) {
    if (problem_ == nullptr) {
      problem_ = what;
      problem_at_ = at_;
    }
    return false;
  }
  bool TakeWord(std::string_view word);
  bool ScanText(const char*& stop);
  bool Unescape(const char* from);
  bool TakeEscape();
  bool TakeHex(uint32_t& unit);
  bool SkipValue(int depth);
  bool SkipText();

  const char* begin_;
  const char* at_;
  const char* end_;
  const char* problem_ = nullptr;
  const char* problem_at_ = nullptr;
  std::string unescaped_;
};

}  // namespace coppice::wire
