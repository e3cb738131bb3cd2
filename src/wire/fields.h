// The words in which a type's table is written. One line per field: protobuf number, JSON name,
// member.
//
//   template <> struct Fields<model::Toleration> {
//     static constexpr auto kTable = std::tuple{
//         Field<1>("key", &model::Toleration::key), ...};
//   };
//
// Four programs read the tables and nothing else: proto_reader, proto_writer, json_reader,
// json_writer. Lines are ordered by number, which is the order in which the API server writes them.
// A field that is not in the table is skipped on reading; inside a pod's spec it still counts for
// unkept_hash.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "model/objects.h"

namespace coppice::wire {

// Specialised for every message type, in tables_*.h.
template <class T>
struct Fields;

template <class T>
concept Message = requires { Fields<T>::kTable; };

// Custom resources: the API server knows them as JSON only. Their tables have numbers like all
// others, but no protobuf code is made of them.
template <class T>
inline constexpr bool kJsonOnly = false;

// Whether JSON writes an empty value too. Upstream does where its type has no "omitempty", and
// validation of such a field may insist on it.
enum class Empty { kOmitted, kWritten };

template <uint32_t Number, class Owner, class Value>
struct FieldLine {
  static constexpr uint32_t kNumber = Number;
  std::string_view name;
  Value Owner::* member;
  Empty empty = Empty::kOmitted;
};

template <uint32_t Number, class Owner, class Value>
constexpr FieldLine<Number, Owner, Value> Field(std::string_view name, Value Owner::* member,
                                                Empty empty = Empty::kOmitted) {
  return {name, member, empty};
}

// A message on the wire whose fields are members of the same struct here: os.name is PodSpec::os.
// If kLed, the first member is an optional and says whether the message is there at all; otherwise
// an empty message is the same as none.
template <uint32_t Number, bool Led, class Table>
struct GroupLine {
  static constexpr uint32_t kNumber = Number;
  static constexpr bool kLed = Led;
  std::string_view name;
  Table table;
};

template <uint32_t Number, class... Lines>
constexpr auto LedGroup(std::string_view name, Lines... lines) {
  return GroupLine<Number, true, std::tuple<Lines...>>{name, std::tuple{lines...}};
}

template <uint32_t Number, class... Lines>
constexpr auto Group(std::string_view name, Lines... lines) {
  return GroupLine<Number, false, std::tuple<Lines...>>{name, std::tuple{lines...}};
}

// A message of its own in protobuf, while JSON has its fields in the parent: volumeSource.
template <uint32_t Number, class Table>
struct InlineLine {
  static constexpr uint32_t kNumber = Number;
  Table table;
};

template <uint32_t Number, class... Lines>
constexpr auto Inline(Lines... lines) {
  return InlineLine<Number, std::tuple<Lines...>>{std::tuple{lines...}};
}

// A message of which only its being there is kept.
template <uint32_t Number, bool Hashed, class Owner>
struct PresenceLine {
  static constexpr uint32_t kNumber = Number;
  static constexpr bool kHashed = Hashed;  // whether its content counts for unkept_hash
  std::string_view name;
  bool Owner::* member;
};

template <uint32_t Number, class Owner>
constexpr PresenceLine<Number, true, Owner> Presence(std::string_view name, bool Owner::* member) {
  return {name, member};
}

template <uint32_t Number, class Owner>
constexpr PresenceLine<Number, false, Owner> UnhashedPresence(std::string_view name,
                                                              bool Owner::* member) {
  return {name, member};
}

// Messages of one text each, kept as texts: readinessGates[].conditionType.
template <uint32_t Number, uint32_t Inner, class Owner>
struct TextsLine {
  static constexpr uint32_t kNumber = Number;
  static constexpr uint32_t kInner = Inner;
  std::string_view name;
  std::string_view inner_name;
  std::vector<std::string> Owner::* member;
};

template <uint32_t Number, uint32_t Inner, class Owner>
constexpr TextsLine<Number, Inner, Owner> Texts(std::string_view name, std::string_view inner_name,
                                                std::vector<std::string> Owner::* member) {
  return {name, inner_name, member};
}

// Not kept, and not part of unkept_hash either.
template <uint32_t Number>
struct OverlookedLine {
  static constexpr uint32_t kNumber = Number;
  std::string_view name;
};

template <uint32_t Number>
constexpr OverlookedLine<Number> Overlooked(std::string_view name) {
  return {name};
}

// volumeMounts: not kept; part of unkept_hash unless the volume is a projected one.
template <uint32_t Number>
struct MountsLine {
  static constexpr uint32_t kNumber = Number;
  std::string_view name;
};

template <uint32_t Number>
constexpr MountsLine<Number> Mounts(std::string_view name) {
  return {name};
}

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsOptional<model::Rare<T>> = true;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsMap = false;
template <class T>
inline constexpr bool kIsMap<model::FlatMap<T>> = true;
template <class T>
inline constexpr bool kIsOptionalMap = false;
template <class T>
inline constexpr bool kIsOptionalMap<std::optional<model::FlatMap<T>>> = true;
template <class T>
inline constexpr bool kIsTime =
    std::is_same_v<T, model::Time> || std::is_same_v<T, model::MicroTime>;

template <class Line>
inline constexpr bool kIsInline = false;
template <uint32_t N, class Table>
inline constexpr bool kIsInline<InlineLine<N, Table>> = true;

// Puts a member back to what it is when its field does not occur.
template <class T>
void Clear(T& value) {
  if constexpr (kIsOptional<T>) {
    value.reset();
  } else if constexpr (kIsVector<T> || kIsMap<T> || std::is_same_v<T, std::string>) {
    value.clear();  // keeps its memory
  } else {
    value = T{};
  }
}

template <class Owner, uint32_t N, class O, class V>
void ClearLine(const FieldLine<N, O, V>& line, Owner& owner) {
  Clear(owner.*line.member);
}
template <class Owner, uint32_t N, bool H, class O>
void ClearLine(const PresenceLine<N, H, O>& line, Owner& owner) {
  owner.*line.member = false;
}
template <class Owner, uint32_t N, uint32_t I, class O>
void ClearLine(const TextsLine<N, I, O>& line, Owner& owner) {
  (owner.*line.member).clear();
}
template <class Owner, uint32_t N>
void ClearLine(const OverlookedLine<N>&, Owner&) {}
template <class Owner, uint32_t N>
void ClearLine(const MountsLine<N>&, Owner&) {}

template <class Table, class Owner>
void ClearTable(const Table& table, Owner& owner);

template <class Owner, uint32_t N, bool L, class Table>
void ClearLine(const GroupLine<N, L, Table>& line, Owner& owner) {
  ClearTable(line.table, owner);
}
template <class Owner, uint32_t N, class Table>
void ClearLine(const InlineLine<N, Table>& line, Owner& owner) {
  ClearTable(line.table, owner);
}

template <class Table, class Owner>
void ClearTable(const Table& table, Owner& owner) {
  std::apply([&](const auto&... line) { (ClearLine(line, owner), ...); }, table);
}

}  // namespace coppice::wire
