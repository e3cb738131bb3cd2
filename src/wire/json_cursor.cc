#include "wire/json_cursor.h"

#include <charconv>
#include <string>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace coppice::wire {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

void AppendUtf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

}  // namespace

std::string JsonCursor::problem() const {
  return std::string(problem_ == nullptr ? "nothing" : problem_) + " at byte " +
         std::to_string((problem_ == nullptr ? at_ : problem_at_) - begin_);
}

// From at_ to the next quote, backslash or control character, which `stop` then points to. Most of
// all bytes pass through here.
bool JsonCursor::ScanText(const char*& stop) {
  const char* p = at_;
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i last_control = _mm_set1_epi8(0x1F);
  while (end_ - p >= 16) {
    const __m128i chunk = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i special =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(chunk, quote), _mm_cmpeq_epi8(chunk, backslash)),
                     _mm_cmpeq_epi8(_mm_min_epu8(chunk, last_control), chunk));
    const auto stops = static_cast<uint32_t>(_mm_movemask_epi8(special));
    if (stops != 0) {
      stop = p + __builtin_ctz(stops);
      return true;
    }
    p += 16;
  }
#endif
  for (; p != end_; ++p) {
    const auto c = static_cast<unsigned char>(*p);
    if (c == '"' || c == '\\' || c < 0x20) {
      stop = p;
      return true;
    }
  }
  at_ = end_;
  return Problem("a text without its closing quote");
}

bool JsonCursor::ReadText(std::string_view& text) {
  if (Peek() != '"') return Problem("expected a text");
  const char* start = ++at_;
  const char* stop = nullptr;
  if (!ScanText(stop)) return false;
  if (*stop == '"') [[likely]] {
    text = {start, static_cast<size_t>(stop - start)};
    at_ = stop + 1;
  } else {
    if (!Unescape(start)) return false;
    text = unescaped_;
  }
  return true;
}

bool JsonCursor::Unescape(const char* from) {
  unescaped_.clear();
  at_ = from;
  while (true) {
    const char* stop = nullptr;
    if (!ScanText(stop)) return false;
    unescaped_.append(at_, stop);
    at_ = stop + 1;
    if (*stop == '"') return true;
    if (*stop != '\\') return Problem("a control character in a text");
    if (!TakeEscape()) return false;
  }
}

bool JsonCursor::TakeHex(uint32_t& unit) {
  if (end_ - at_ < 4) return Problem("a cut off \\u escape");
  const auto [stop, error] = std::from_chars(at_, at_ + 4, unit, 16);
  if (error != std::errc() || stop != at_ + 4 || *at_ == '-')
    return Problem("a malformed \\u escape");
  at_ += 4;
  return true;
}

bool JsonCursor::TakeEscape() {
  if (at_ == end_) return Problem("a text without its closing quote");
  switch (*at_++) {
    case '"':
      unescaped_ += '"';
      return true;
    case '\\':
      unescaped_ += '\\';
      return true;
    case '/':
      unescaped_ += '/';
      return true;
    case 'b':
      unescaped_ += '\b';
      return true;
    case 'f':
      unescaped_ += '\f';
      return true;
    case 'n':
      unescaped_ += '\n';
      return true;
    case 'r':
      unescaped_ += '\r';
      return true;
    case 't':
      unescaped_ += '\t';
      return true;
    case 'u':
      break;
    default:
      return Problem("an unknown escape");
  }
  uint32_t code = 0;
  if (!TakeHex(code)) return false;
  if (code >= 0xD800 && code <= 0xDFFF) {
    const uint32_t high = std::exchange(code, 0xFFFD);  // half a pair stands for nothing
    const char* second = at_;
    if (high <= 0xDBFF && end_ - at_ >= 2 && at_[0] == '\\' && at_[1] == 'u') {
      uint32_t low = 0;
      at_ += 2;
      if (!TakeHex(low)) return false;
      if (low >= 0xDC00 && low <= 0xDFFF) {
        code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
      } else {
        at_ = second;  // a character of its own
      }
    }
  }
  AppendUtf8(unescaped_, code);
  return true;
}

bool JsonCursor::ReadNumber(std::string_view& text) {
  Peek();
  const char* start = at_;
  const auto digits = [this] {
    const char* from = at_;
    while (at_ != end_ && IsDigit(*at_)) ++at_;
    return at_ != from;
  };
  if (at_ != end_ && *at_ == '-') ++at_;
  const bool leading_zero = at_ != end_ && *at_ == '0';
  const char* whole = at_;
  if (!digits() || (leading_zero && at_ - whole > 1)) return Problem("expected a number");
  if (at_ != end_ && *at_ == '.') {
    ++at_;
    if (!digits()) return Problem("a malformed number");
  }
  if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
    ++at_;
    if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    if (!digits()) return Problem("a malformed number");
  }
  text = {start, static_cast<size_t>(at_ - start)};
  return true;
}

bool JsonCursor::ReadInteger(int64_t& value) {
  std::string_view text;
  if (!ReadNumber(text)) return false;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (stop != text.data() + text.size()) return Problem("expected a whole number");
  return error == std::errc() || Problem("a number out of range");
}

bool JsonCursor::TakeWord(std::string_view word) {
  if (static_cast<size_t>(end_ - at_) < word.size() || std::string_view(at_, word.size()) != word) {
    return false;
  }
  at_ += word.size();
  return true;
}

bool JsonCursor::ReadBool(bool& value) {
  const char c = Peek();
  value = c == 't';
  return TakeWord(value ? "true" : "false") || Problem("expected true or false");
}

bool JsonCursor::TakeNull() {
  return Peek() == 'n' && (TakeWord("null") || Problem("an unknown word"));
}

bool JsonCursor::Open(char bracket) {
  return Take(bracket) || Problem(bracket == '{' ? "expected an object" : "expected an array");
}

bool JsonCursor::Next(char bracket, bool& first) {
  if (failed() || Take(bracket)) return false;
  if (!first && !Take(',')) return Problem(bracket == '}' ? "expected , or }" : "expected , or ]");
  first = false;
  return true;
}

bool JsonCursor::ReadKey(std::string_view& key) {
  return ReadText(key) && (Take(':') || Problem("expected :"));
}

bool JsonCursor::SkipText() {
  ++at_;
  while (true) {
    const char* stop = nullptr;
    if (!ScanText(stop)) return false;
    at_ = stop + 1;
    if (*stop == '"') return true;
    if (*stop != '\\') return Problem("a control character in a text");
    unescaped_.clear();
    if (!TakeEscape()) return false;
  }
}

bool JsonCursor::SkipValue(int depth) {
  if (depth > kMaxDepth) return Problem("nested too deeply");
  bool first = true;
  switch (Peek()) {
    case '"':
      return SkipText();
    case '{':
      ++at_;
      while (Next('}', first)) {
        if (Peek() != '"') return Problem("expected a text");
        if (!SkipText() || !(Take(':') || Problem("expected :")) || !SkipValue(depth + 1))
          return false;
      }
      return !failed();
    case '[':
      ++at_;
      while (Next(']', first)) {
        if (!SkipValue(depth + 1)) return false;
      }
      return !failed();
    case 't':
    case 'f': {
      bool ignored;
      return ReadBool(ignored);
    }
    case 'n':
      return TakeNull();
    case '\0':
      return Problem("the text ends too early");
    default: {
      std::string_view ignored;
      return ReadNumber(ignored);
    }
  }
}

bool JsonCursor::SkipLoosely(const char* value) {
  at_ = value;
  problem_ = nullptr;
  std::string open;  // the brackets that have to be closed, so that no depth exhausts the stack
  do {
    const char c = Peek();
    if (at_ == end_) return Problem("the text ends too early");
    ++at_;
    if (c == '{' || c == '[') {
      open.push_back(c == '{' ? '}' : ']');
    } else if (c == '}' || c == ']') {
      if (open.empty() || open.back() != c) return --at_, Problem("a bracket that was not opened");
      open.pop_back();
    } else if (c == '"') {
      for (bool escaped = false; at_ != end_ && (escaped || *at_ != '"'); ++at_)
        escaped = !escaped && *at_ == '\\';
      if (at_ == end_) return Problem("a text without its closing quote");
      ++at_;
    } else {
      while (at_ != end_ &&
             std::string_view(",:{}[]\" \t\r\n").find(*at_) == std::string_view::npos)
        ++at_;
    }
  } while (!open.empty());
  return true;
}

}  // namespace coppice::wire
