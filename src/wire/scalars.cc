#include "wire/scalars.h"

#include <array>
#include <chrono>

#include "wire/proto_cursor.h"
#include "wire/time_text.h"

namespace coppice::wire {
namespace {

// Calls field(tag, cursor) for each field of a small message; it answers false if the value is bad.
template <class F>
bool EachField(std::string_view bytes, Trouble& trouble, F field) {
  for (ProtoCursor in(bytes); !in.done();) {
    Tag tag;
    if (!in.ReadTag(tag) || !field(tag, in)) return trouble.Is("malformed protobuf");
  }
  return true;
}

bool ReadNumber(Tag tag, ProtoCursor& in, uint64_t& value) {
  return tag.type == WireType::kVarint && in.ReadVarint(value);
}

bool ReadText(Tag tag, ProtoCursor& in, std::string_view& text) {
  return tag.type == WireType::kLengthDelimited && in.ReadBytes(text);
}

bool ReadTimestamp(std::string_view bytes, TimePoint& at, Trouble& trouble) {
  uint64_t seconds = 0;
  uint64_t nanos = 0;
  const bool read = EachField(bytes, trouble, [&](Tag tag, ProtoCursor& in) {
    return tag.number == 1   ? ReadNumber(tag, in, seconds)
           : tag.number == 2 ? ReadNumber(tag, in, nanos)
                             : in.Skip(tag);
  });
  if (!read) return false;
  return FromSecondsAndNanos(static_cast<int64_t>(seconds), static_cast<int32_t>(nanos), at) ||
         trouble.Is("a time out of range", Flaw::kTime);
}

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> kBase64Values = [] {
  std::array<int8_t, 256> values{};
  values.fill(-1);
  for (size_t i = 0; i < kBase64.size(); ++i) {
    values[static_cast<unsigned char>(kBase64[i])] = static_cast<int8_t>(i);
  }
  return values;
}();

}  // namespace

bool TimeFromProto(std::string_view bytes, model::Time& value, Trouble& trouble) {
  if (!ReadTimestamp(bytes, value.at, trouble)) return false;
  // JSON has whole seconds only, and so Kubernetes drops the rest here too.
  value.at = std::chrono::floor<std::chrono::seconds>(value.at);
  return true;
}

bool TimeFromProto(std::string_view bytes, model::MicroTime& value, Trouble& trouble) {
  if (!ReadTimestamp(bytes, value.at, trouble)) return false;
  value.at = std::chrono::floor<std::chrono::microseconds>(value.at);
  return true;
}

bool ScalarFromProto(std::string_view bytes, model::Quantity& value, Reading& reading) {
  std::string_view text = "0";
  const bool read = EachField(bytes, reading.trouble, [&](Tag tag, ProtoCursor& in) {
    return tag.number == 1 ? ReadText(tag, in, text) : in.Skip(tag);
  });
  return read && QuantityFromText(text, value, reading);
}

bool ScalarFromProto(std::string_view bytes, model::IntOrString& value, Reading& reading) {
  Trouble& trouble = reading.trouble;
  uint64_t type = 0;
  uint64_t number = 0;
  std::string_view text;
  const bool read = EachField(bytes, trouble, [&](Tag tag, ProtoCursor& in) {
    return tag.number == 1   ? ReadNumber(tag, in, type)
           : tag.number == 2 ? ReadNumber(tag, in, number)
           : tag.number == 3 ? ReadText(tag, in, text)
                             : in.Skip(tag);
  });
  if (!read) return false;
  if (type > 1) return trouble.Is("neither a number nor a text");
  value.is_string = type == 1;
  value.number = value.is_string ? 0 : static_cast<int32_t>(number);
  value.text.assign(value.is_string ? text : "");
  return true;
}

bool ScalarFromProto(std::string_view bytes, model::Bytes& value, Reading&) {
  value.data.assign(bytes);
  return true;
}

bool TimeFromText(std::string_view text, model::Time& value, Trouble& trouble) {
  const auto at = ParseRfc3339(text);
  if (!at) {
    return trouble.Is("not an RFC 3339 time of this era: \"" + std::string(text) + "\"",
                      Flaw::kTime);
  }
  value.at = std::chrono::floor<std::chrono::seconds>(*at);
  return true;
}

bool TimeFromText(std::string_view text, model::MicroTime& value, Trouble& trouble) {
  const auto at = ParseRfc3339Micro(text);
  if (!at) {
    return trouble.Is(
        "not an RFC 3339 time with six digits after the point: \"" + std::string(text) + "\"",
        Flaw::kTime);
  }
  value.at = *at;
  return true;
}

bool QuantityFromText(std::string_view text, model::Quantity& value, Reading& reading) {
  if (reading.quantities != nullptr) {
    if (const model::Quantity* known = reading.quantities->Find(text)) {
      value = *known;
      return true;
    }
  }
  auto parsed = model::Quantity::Parse(text);
  if (!parsed.ok()) return reading.trouble.Is(parsed.status().message(), Flaw::kQuantity);
  value = *std::move(parsed);
  if (reading.quantities != nullptr) reading.quantities->Remember(text, value);
  return true;
}

bool BytesFromBase64(std::string_view text, model::Bytes& value, Trouble& trouble) {
  value.data.clear();
  if (text.size() % 4 != 0) return trouble.Is("base64 of a length that is no multiple of four");
  for (size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    const int padding =
        !last ? 0 : (text[i + 3] == '=') + (text[i + 3] == '=' && text[i + 2] == '=');
    uint32_t bits = 0;
    for (size_t j = 0; j < 4; ++j) {
      const bool pad = j >= 4 - static_cast<size_t>(padding);
      const int digit = pad ? 0 : kBase64Values[static_cast<unsigned char>(text[i + j])];
      if (digit < 0) return trouble.Is("text that is not base64");
      bits = bits << 6 | static_cast<uint32_t>(digit);
    }
    value.data += static_cast<char>(bits >> 16);
    if (padding < 2) value.data += static_cast<char>(bits >> 8);
    if (padding < 1) value.data += static_cast<char>(bits);
  }
  return true;
}

std::string ToBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t have = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (j < have ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (size_t j = 0; j < 4; ++j) text += j <= have ? kBase64[bits >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

}  // namespace coppice::wire
