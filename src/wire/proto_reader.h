// Protobuf in: fills a value from the bytes of its message, by its table.
//
// What the value held before is overwritten, and its memory reused: whoever reads ten thousand pods
// into the same Pod allocates hardly anything. Scalars that occur twice: the last one counts, as
// protobuf says. Messages that occur twice would have to be merged; nobody sends that, so it is
// refused rather than got wrong.
//
// Included by codec.h only.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "model/objects.h"
#include "wire/fields.h"
#include "wire/proto_cursor.h"
#include "wire/reading.h"
#include "wire/scalars.h"

namespace coppice::wire {

class ProtoReader {
 public:
  explicit ProtoReader(Reading& reading) : reading_(reading) {}

  template <Message T>
  bool Read(std::string_view bytes, T& out) {
    if constexpr (std::is_same_v<T, model::PodSpec>) {
      reading_.in_pod_spec = true;
      reading_.unkept.Begin();
      const bool read = ReadTable(Fields<T>::kTable, bytes, out);
      reading_.in_pod_spec = false;
      if (read) out.unkept_hash = reading_.unkept.Finish(out);
      return read;
    } else {
      return ReadTable(Fields<T>::kTable, bytes, out);
    }
  }

 private:
  Trouble& trouble() { return reading_.trouble; }

  template <class... Lines, class Owner>
  bool ReadTable(const std::tuple<Lines...>& table, std::string_view bytes, Owner& owner) {
    return ReadLines(table, bytes, owner, std::index_sequence_for<Lines...>{});
  }

  template <class Table, class Owner, size_t... I>
  bool ReadLines(const Table& table, std::string_view bytes, Owner& owner,
                 std::index_sequence<I...>) {
    std::array<uint32_t, sizeof...(I)> counts{};  // how often each line's field has occurred
    ProtoCursor in(bytes);
    uint64_t unknown = 0;
    while (!in.done()) {
      const char* start = in.at();
      Tag tag;
      if (!in.ReadTag(tag)) {
        if (reading_.lenient) break;
        return trouble().Is("bytes that are no protobuf tag");
      }
      bool read = true;
      const bool known = ((std::get<I>(table).kNumber == tag.number &&
                           ((read = ReadLine(std::get<I>(table), tag, in, owner, counts[I]++) ||
                                    (--counts[I], false)),
                            true)) ||
                          ...);
      if (!read) {
        if (!reading_.lenient) return false;
        if (!StepOver(bytes.substr(static_cast<size_t>(start - bytes.data())), in)) break;
        continue;
      }
      if (known) continue;
      if (!in.Skip(tag)) {
        if (reading_.lenient) break;
        return Truncated(tag.number);
      }
      if (reading_.in_pod_spec) {
        reading_.unkept.Add(++unknown, {start, static_cast<size_t>(in.at() - start)});
      }
    }
    (Finish(std::get<I>(table), owner, counts[I]), ...);
    return true;
  }

  // Past the field that `rest` begins with, whatever is in it; false if it has no end.
  static bool StepOver(std::string_view rest, ProtoCursor& in) {
    in = ProtoCursor(rest);
    Tag tag;
    return in.ReadTag(tag) && in.Skip(tag);
  }

  bool Truncated(uint32_t number) {
    return trouble().Is("field number " + std::to_string(number) + " is cut off or malformed");
  }

  // ---- lines ----

  template <uint32_t N, class O, class V, class Owner>
  bool ReadLine(const FieldLine<N, O, V>& line, Tag tag, ProtoCursor& in, Owner& owner,
                uint32_t nth) {
    return ReadMember(tag, in, owner.*line.member, nth) || trouble().In(line.name);
  }

  template <uint32_t N, bool L, class Table, class Owner>
  bool ReadLine(const GroupLine<N, L, Table>& line, Tag tag, ProtoCursor& in, Owner& owner,
                uint32_t nth) {
    std::string_view bytes;
    if (!Open(tag, in, nth, bytes)) return trouble().In(line.name);
    SpecStep step(reading_, N);
    if (!ReadTable(line.table, bytes, owner)) return trouble().In(line.name);
    if constexpr (L) {
      auto& leader = owner.*std::get<0>(line.table).member;
      if (!leader) leader.emplace();
    }
    return true;
  }

  template <uint32_t N, class Table, class Owner>
  bool ReadLine(const InlineLine<N, Table>& line, Tag tag, ProtoCursor& in, Owner& owner,
                uint32_t nth) {
    std::string_view bytes;
    if (!Open(tag, in, nth, bytes)) return false;
    SpecStep step(reading_, N);
    return ReadTable(line.table, bytes, owner);
  }

  template <uint32_t N, bool H, class O, class Owner>
  bool ReadLine(const PresenceLine<N, H, O>& line, Tag tag, ProtoCursor& in, Owner& owner,
                uint32_t nth) {
    std::string_view bytes;
    if (!Open(tag, in, nth, bytes)) return trouble().In(line.name);
    owner.*line.member = true;
    if (H && reading_.in_pod_spec) reading_.unkept.Add(uint64_t{N} << 32, bytes);
    return true;
  }

  template <uint32_t N, uint32_t Inner, class O, class Owner>
  bool ReadLine(const TextsLine<N, Inner, O>& line, Tag tag, ProtoCursor& in, Owner& owner,
                uint32_t nth) {
    std::string_view bytes;
    if (!Open(tag, in, 0, bytes)) return trouble().In(line.name);
    std::string& text = Slot(owner.*line.member, nth);
    text.clear();
    ProtoCursor inner(bytes);
    while (!inner.done()) {
      Tag inner_tag;
      if (!inner.ReadTag(inner_tag)) {
        return trouble().Is("bytes that are no protobuf tag"), trouble().In(nth),
               trouble().In(line.name);
      }
      const bool read = inner_tag.number == Inner
                            ? ReadScalar(inner_tag, inner, text)
                            : inner.Skip(inner_tag) || Truncated(inner_tag.number);
      if (!read) return trouble().In(nth), trouble().In(line.name);
    }
    return true;
  }

  template <uint32_t N, class Owner>
  bool ReadLine(const OverlookedLine<N>& line, Tag tag, ProtoCursor& in, Owner&, uint32_t) {
    return in.Skip(tag) || Truncated(N) || trouble().In(line.name);
  }

  template <uint32_t N, class Owner>
  bool ReadLine(const MountsLine<N>& line, Tag tag, ProtoCursor& in, Owner&, uint32_t nth) {
    std::string_view mount;
    if (!Open(tag, in, 0, mount)) return trouble().In(nth), trouble().In(line.name);
    if (!reading_.in_pod_spec) return true;
    ProtoCursor inner(mount);
    std::string_view volume;
    while (!inner.done()) {
      Tag inner_tag;
      const bool read = inner.ReadTag(inner_tag) &&
                        (inner_tag.number == 1 && inner_tag.type == WireType::kLengthDelimited
                             ? inner.ReadBytes(volume)
                             : inner.Skip(inner_tag));
      if (!read) return Truncated(N), trouble().In(nth), trouble().In(line.name);
    }
    reading_.unkept.AddMount(volume, mount);
    return true;
  }

  template <class Line, class Owner>
  void Finish(const Line& line, Owner& owner, uint32_t count) {
    if (count == 0) ClearLine(line, owner);
  }
  template <uint32_t N, class O, class V, class Owner>
  void Finish(const FieldLine<N, O, V>& line, Owner& owner, uint32_t count) {
    auto& member = owner.*line.member;
    if constexpr (kIsMap<V>) {
      member.Settle(count);
    } else if constexpr (kIsOptionalMap<V>) {
      if (member) member->Settle(count);
      if (count == 0) Clear(member);
    } else if constexpr (kIsVector<V> && !std::is_same_v<V, std::vector<bool>> &&
                         !std::is_same_v<V, std::vector<int64_t>>) {
      member.resize(count);
    } else if (count == 0) {
      Clear(member);
    }
  }
  template <uint32_t N, uint32_t I, class O, class Owner>
  void Finish(const TextsLine<N, I, O>& line, Owner& owner, uint32_t count) {
    (owner.*line.member).resize(count);
  }

  // ---- members ----

  // The nth element, which may be an old one to be overwritten.
  template <class T>
  static T& Slot(std::vector<T>& vector, size_t nth) {
    return nth < vector.size() ? vector[nth] : vector.emplace_back();
  }

  template <class V>
  bool ReadMember(Tag tag, ProtoCursor& in, V& member, uint32_t nth) {
    if constexpr (kIsMap<V>) {
      return ReadEntry(tag, in, Slot(member.raw_entries(), nth));
    } else if constexpr (std::is_same_v<V, std::vector<bool>> ||
                         std::is_same_v<V, std::vector<int64_t>>) {
      if (nth == 0) member.clear();
      return ReadNumbers(tag, in, member);
    } else if constexpr (kIsVector<V>) {
      auto& slot = Slot(member, nth);
      if constexpr (Message<typename V::value_type>) {
        SpecStep step(reading_, nth);
        return ReadValue(tag, in, slot, 0) || trouble().In(size_t{nth});
      } else {
        return ReadValue(tag, in, slot, 0) || trouble().In(size_t{nth});
      }
    } else if constexpr (kIsOptionalMap<V>) {
      if (!member) member.emplace();
      return ReadEntry(tag, in, Slot(member->raw_entries(), nth));
    } else if constexpr (kIsOptional<V>) {
      if (!member) member.emplace();
      bool empty_time = false;
      const bool read = ReadValue(tag, in, *member, nth, &empty_time);
      if (empty_time) member.reset();
      return read;
    } else {
      return ReadValue(tag, in, member, nth);
    }
  }

  template <class T>
  bool ReadValue(Tag tag, ProtoCursor& in, T& value, uint32_t nth, bool* empty_time = nullptr) {
    if constexpr (Message<T>) {
      std::string_view bytes;
      if (!Open(tag, in, nth, bytes)) return false;
      SpecStep step(reading_, tag.number);
      return Read(bytes, value);
    } else if constexpr (kIsTime<T>) {
      std::string_view bytes;
      if (!Open(tag, in, 0, bytes)) return false;
      // Go writes its zero time, which means no time, as an empty message.
      if (bytes.empty() && empty_time != nullptr) *empty_time = true;
      return TimeFromProto(bytes, value, trouble());
    } else {
      return ReadScalar(tag, in, value);
    }
  }

  template <class T>
  bool ReadScalar(Tag tag, ProtoCursor& in, T& value) {
    if constexpr (std::is_integral_v<T>) {
      uint64_t raw;
      if (tag.type != WireType::kVarint) return WrongType("a number");
      if (!in.ReadVarint(raw)) return Truncated(tag.number);
      if constexpr (std::is_same_v<T, bool>) {
        value = raw != 0;
      } else {
        value =
            static_cast<T>(raw);  // int32 is sent as ten bytes when negative; protobuf says: cut
      }
      return true;
    } else {
      std::string_view bytes;
      if (!Open(tag, in, 0, bytes)) return false;
      if constexpr (std::is_same_v<T, std::string>) {
        value.assign(bytes);  // as it is: whether it is UTF-8 is for others to mind
        return true;
      } else {
        return ScalarFromProto(bytes, value, reading_);
      }
    }
  }

  // A number by itself or, packed, many in a row.
  template <class T>
  bool ReadNumbers(Tag tag, ProtoCursor& in, std::vector<T>& numbers) {
    uint64_t raw;
    if (tag.type == WireType::kVarint) {
      if (!in.ReadVarint(raw)) return Truncated(tag.number);
      numbers.push_back(static_cast<T>(raw));
      return true;
    }
    std::string_view bytes;
    if (!Open(tag, in, 0, bytes)) return false;
    for (ProtoCursor packed(bytes); !packed.done();) {
      if (!packed.ReadVarint(raw)) return Truncated(tag.number);
      numbers.push_back(static_cast<T>(raw));
    }
    return true;
  }

  template <class V>
  bool ReadEntry(Tag tag, ProtoCursor& in, std::pair<std::string, V>& entry) {
    std::string_view bytes;
    if (!Open(tag, in, 0, bytes)) return false;
    bool has_key = false;
    uint32_t values = 0;
    for (ProtoCursor inner(bytes); !inner.done();) {
      Tag inner_tag;
      if (!inner.ReadTag(inner_tag)) return trouble().Is("bytes that are no protobuf tag");
      bool read;
      if (inner_tag.number == 1) {
        read = ReadScalar(inner_tag, inner, entry.first);
        has_key = true;
      } else if (inner_tag.number == 2) {
        read = ReadValue(inner_tag, inner, entry.second, values++);
      } else {
        read = inner.Skip(inner_tag) || Truncated(inner_tag.number);
      }
      if (!read) return trouble().InKey(has_key ? entry.first : "?");
    }
    if (!has_key) entry.first.clear();
    if (values == 0) Clear(entry.second);
    return true;
  }

  // ---- small things ----

  bool Open(Tag tag, ProtoCursor& in, uint32_t nth, std::string_view& bytes) {
    if (tag.type != WireType::kLengthDelimited) return WrongType("a text or message");
    if (!in.ReadBytes(bytes)) return Truncated(tag.number);
    return nth == 0 || trouble().Is("occurs twice");
  }

  bool WrongType(std::string_view expected) {
    return trouble().Is("the wrong protobuf wire type for " + std::string(expected));
  }

  Reading& reading_;
};

}  // namespace coppice::wire
