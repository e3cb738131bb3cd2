#include "plugins/batch/extender/go_value.h"

#include <algorithm>

#include "base/strings.h"
#include "wire/json_cursor.h"

namespace coppice::batch::extender {
namespace {

constexpr int kDeepestAnswer = 500;

bool ReadValue(wire::JsonCursor& in, GoValue& value, int depth);

bool ReadMembers(wire::JsonCursor& in, GoValue& value, int depth) {
  value.kind = GoValue::Kind::kObject;
  if (!in.Open('{')) return false;
  bool first = true;
  std::string_view key;
  while (in.Next('}', first)) {
    if (!in.ReadKey(key)) return false;
    GoMember& member = value.members.emplace_back();
    member.name = ValidUtf8(key);
    if (!ReadValue(in, member.value, depth + 1)) return false;
  }
  return !in.failed();
}

bool ReadItems(wire::JsonCursor& in, GoValue& value, int depth) {
  value.kind = GoValue::Kind::kArray;
  if (!in.Open('[')) return false;
  bool first = true;
  while (in.Next(']', first)) {
    if (!ReadValue(in, value.items.emplace_back(), depth + 1)) return false;
  }
  return !in.failed();
}

bool ReadPlain(wire::JsonCursor& in, GoValue& value) {
  std::string_view text;
  switch (in.Peek()) {
    case '"':
      value.kind = GoValue::Kind::kText;
      if (!in.ReadText(text)) return false;
      value.text = ValidUtf8(text);
      return true;
    case 'n':
      return in.TakeNull();
    case 't':
    case 'f':
      value.kind = GoValue::Kind::kBool;
      return in.ReadBool(value.flag);
    default:
      value.kind = GoValue::Kind::kNumber;
      if (!in.ReadNumber(text)) return false;
      value.text = text;
      return true;
  }
}

bool ReadValue(wire::JsonCursor& in, GoValue& value, int depth) {
  if (depth > kDeepestAnswer) return false;
  const char next = in.Peek();
  const char* from = in.at();
  const bool read = next == '{'   ? ReadMembers(in, value, depth)
                    : next == '[' ? ReadItems(in, value, depth)
                                  : ReadPlain(in, value);
  if (read) value.raw = {from, static_cast<size_t>(in.at() - from)};
  return read;
}

// Go folds as Unicode does: the long s is an s, the Kelvin sign a k.
std::string Folded(std::string_view name) {
  std::string folded;
  for (size_t i = 0; i < name.size();) {
    if (name.substr(i).starts_with("\u017F")) {
      folded += 's';
      i += 2;
    } else if (name.substr(i).starts_with("\u212A")) {
      folded += 'k';
      i += 3;
    } else {
      folded += name[i++];
    }
  }
  return Lower(folded);
}

}  // namespace

Result<GoValue> ReadGoValue(std::string_view text) {
  wire::JsonCursor in(text);
  if (in.AtEnd()) return InvalidArgument("EOF");
  GoValue value;
  if (!ReadValue(in, value, 0)) return InvalidArgument("the answer is not JSON: " + in.problem());
  return value;
}

bool GoesInto(std::string_view member, std::string_view field) {
  if (member == field) return true;
  // Folding only shortens, and only what is not ASCII; most names differ in length.
  const auto ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (member.size() != field.size() && std::ranges::all_of(member, ascii)) return false;
  return Folded(member) == Lower(field);
}

}  // namespace coppice::batch::extender
