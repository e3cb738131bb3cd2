#include "plugins/batch/extender/go_text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/strings.h"
#include "wire/json_cursor.h"
#include "wire/utf8.h"

namespace coppice::batch::extender {
namespace {

constexpr int kDeepest = 500;  // the cursor's own limit is a little above

// What is not written as it is: its escape, or empty.
std::string_view EscapeOf(char c, std::string& room) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '<':
      return "\\u003c";
    case '>':
      return "\\u003e";
    case '&':
      return "\\u0026";
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20) return {};
  room = "\\u00";
  room += kHex[byte >> 4];
  room += kHex[byte & 15];
  return room;
}

bool CopyValue(wire::JsonCursor& in, std::string& out, int depth);

bool CopyObject(wire::JsonCursor& in, std::string& out, int depth) {
  if (!in.Open('{')) return false;
  out += '{';
  bool first = true;
  std::string_view key;
  while (in.Next('}', first)) {
    if (!in.ReadKey(key)) return false;
    if (out.back() != '{') out += ',';
    AppendGoText(out, key);
    out += ':';
    if (!CopyValue(in, out, depth + 1)) return false;
  }
  out += '}';
  return !in.failed();
}

bool CopyArray(wire::JsonCursor& in, std::string& out, int depth) {
  if (!in.Open('[')) return false;
  out += '[';
  bool first = true;
  bool any = false;
  while (in.Next(']', first)) {
    if (any) out += ',';
    any = true;
    if (!CopyValue(in, out, depth + 1)) return false;
  }
  out += ']';
  return !in.failed();
}

bool CopyValue(wire::JsonCursor& in, std::string& out, int depth) {
  if (depth > kDeepest) return false;
  std::string_view text;
  bool flag = false;
  switch (in.Peek()) {
    case '{':
      return CopyObject(in, out, depth);
    case '[':
      return CopyArray(in, out, depth);
    case '"':
      if (!in.ReadText(text)) return false;
      AppendGoText(out, text);
      return true;
    case 'n':
      if (!in.TakeNull()) return false;
      out += "null";
      return true;
    case 't':
    case 'f':
      if (!in.ReadBool(flag)) return false;
      out += flag ? "true" : "false";
      return true;
    default:
      if (!in.ReadNumber(text)) return false;
      out += text;
      return true;
  }
}

}  // namespace

void AppendGoText(std::string& out, std::string_view text) {
  if (!wire::IsUtf8(text)) return AppendGoText(out, ValidUtf8(text));
  std::string room;
  out += '"';
  size_t plain = 0;  // from here on nothing has been written
  for (size_t i = 0; i < text.size(); ++i) {
    std::string_view escape = EscapeOf(text[i], room);
    size_t taken = 1;
    if (escape.empty() && text[i] == '\xE2' && text.substr(i).starts_with("\xE2\x80")) {
      // U+2028 and U+2029 end a line in JavaScript.
      if (text[i + 2] == '\xA8') escape = "\\u2028";
      if (text[i + 2] == '\xA9') escape = "\\u2029";
      taken = 3;
    }
    if (escape.empty()) continue;
    out += text.substr(plain, i - plain);
    out += escape;
    i += taken - 1;
    plain = i + 1;
  }
  out += text.substr(plain);
  out += '"';
}

bool AppendGoFloat(std::string& out, double value) {
  constexpr double kExactIntegers = 9007199254740992;  // 2^53
  if (!std::isfinite(value)) return false;
  if (value == std::trunc(value) && std::abs(value) < kExactIntegers &&
      !(value == 0 && std::signbit(value))) {
    AppendGoInt(out, static_cast<int64_t>(value));
    return true;
  }
  // Shortest digits, d.ddde+xx; Go lays them out without an exponent between 1e-6 and 1e21.
  std::array<char, 40> room{};
  const auto end =
      std::to_chars(room.data(), room.data() + room.size(), value, std::chars_format::scientific);
  std::string_view text(room.data(), static_cast<size_t>(end.ptr - room.data()));
  if (text.starts_with('-')) {
    out += '-';
    text.remove_prefix(1);
  }
  const size_t e = text.find('e');
  std::string digits(1, text[0]);
  if (e > 2) digits += text.substr(2, e - 2);
  int exponent = 0;
  std::string_view power = text.substr(e + 1);
  if (power.starts_with('+')) power.remove_prefix(1);
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-6 || size >= 1e21)) {
    out += digits[0];
    if (digits.size() > 1) out += "." + digits.substr(1);
    out += exponent < 0 ? "e-" : "e+";
    const int shown = std::abs(exponent);
    // Go cleans e-09 to e-9, but leaves e+21 and e-10 alone.
    out += std::to_string(shown);
    return true;
  }
  if (exponent < 0) {
    out += "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
    return true;
  }
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) {
    out += digits + std::string(whole - digits.size(), '0');
  } else {
    out += digits.substr(0, whole) + "." + digits.substr(whole);
  }
  return true;
}

void AppendGoInt(std::string& out, int64_t value) {
  std::array<char, 24> room{};
  const auto end = std::to_chars(room.data(), room.data() + room.size(), value);
  out.append(room.data(), end.ptr);
}

std::optional<std::string> AsGoWrites(std::string_view json) {
  wire::JsonCursor in(json);
  std::string out;
  out.reserve(json.size());
  if (!CopyValue(in, out, 0) || !in.AtEnd()) return std::nullopt;
  return out;
}

}  // namespace coppice::batch::extender
