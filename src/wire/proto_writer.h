// Protobuf out, by a value's table, as the API server writes it: fields in the order of their
// numbers, and those that are not pointers in Go even when they are empty.
//
// Written back to front, because then a message's length is known when its turn comes. Included by
// codec.h only.

#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "model/objects.h"
#include "wire/fields.h"
#include "wire/proto_cursor.h"

namespace coppice::wire {

// A buffer that grows at its front.
class BackwardBytes {
 public:
  size_t size() const { return bytes_.size() - free_; }
  std::string_view view() const { return {bytes_.data() + free_, size()}; }

  void Prepend(std::string_view bytes) {
    if (free_ < bytes.size()) Grow(bytes.size());
    free_ -= bytes.size();
    std::memcpy(bytes_.data() + free_, bytes.data(), bytes.size());
  }
  void PrependVarint(uint64_t value) {
    char buffer[10];
    size_t length = 0;
    do {
      buffer[length++] = static_cast<char>((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
      value >>= 7;
    } while (value != 0);
    Prepend({buffer, length});
  }
  void PrependTag(uint32_t number, WireType type) {
    PrependVarint(uint64_t{number} << 3 | static_cast<uint32_t>(type));
  }

 private:
  void Grow(size_t need) {
    const size_t used = size();
    std::string larger(bytes_.size() * 2 + need + 256, '\0');
    std::memcpy(larger.data() + larger.size() - used, bytes_.data() + free_, used);
    free_ = larger.size() - used;
    bytes_ = std::move(larger);
  }

  std::string bytes_;
  size_t free_ = 0;
};

class ProtoWriter {
 public:
  template <Message T>
  void Write(const T& value) {
    WriteTable(Fields<T>::kTable, value);
  }

  std::string Take() const { return std::string(out_.view()); }

 private:
  template <class... Lines, class Owner>
  void WriteTable(const std::tuple<Lines...>& table, const Owner& owner) {
    WriteLines(table, owner, std::index_sequence_for<Lines...>{});
  }

  template <class Table, class Owner, size_t... I>
  void WriteLines(const Table& table, const Owner& owner, std::index_sequence<I...>) {
    constexpr size_t kLast = sizeof...(I) - 1;
    (WriteLine(std::get<kLast - I>(table), owner), ...);
  }

  // Whatever `content` writes becomes the length-delimited field `number`.
  template <class F>
  void Wrap(uint32_t number, F content) {
    const size_t before = out_.size();
    content();
    out_.PrependVarint(out_.size() - before);
    out_.PrependTag(number, WireType::kLengthDelimited);
  }

  template <uint32_t N, class O, class V, class Owner>
  void WriteLine(const FieldLine<N, O, V>& line, const Owner& owner) {
    WriteMember(N, owner.*line.member);
  }

  template <uint32_t N, bool L, class Table, class Owner>
  void WriteLine(const GroupLine<N, L, Table>& line, const Owner& owner) {
    if constexpr (L) {
      if (!(owner.*std::get<0>(line.table).member)) return;
      Wrap(N, [&] { WriteTable(line.table, owner); });
    } else {
      const size_t before = out_.size();
      WriteTable(line.table, owner);
      if (out_.size() == before) return;
      out_.PrependVarint(out_.size() - before);
      out_.PrependTag(N, WireType::kLengthDelimited);
    }
  }

  template <uint32_t N, class Table, class Owner>
  void WriteLine(const InlineLine<N, Table>& line, const Owner& owner) {
    Wrap(N, [&] { WriteTable(line.table, owner); });
  }

  template <uint32_t N, bool H, class O, class Owner>
  void WriteLine(const PresenceLine<N, H, O>& line, const Owner& owner) {
    if (owner.*line.member) Wrap(N, [] {});
  }

  template <uint32_t N, uint32_t Inner, class O, class Owner>
  void WriteLine(const TextsLine<N, Inner, O>& line, const Owner& owner) {
    const auto& texts = owner.*line.member;
    for (auto it = texts.rbegin(); it != texts.rend(); ++it) {
      Wrap(N, [&] { WriteValue(Inner, *it); });
    }
  }

  template <uint32_t N, class Owner>
  void WriteLine(const OverlookedLine<N>&, const Owner&) {}
  template <uint32_t N, class Owner>
  void WriteLine(const MountsLine<N>&, const Owner&) {}

  template <class V>
  void WriteMember(uint32_t number, const V& member) {
    if constexpr (kIsMap<V>) {
      const auto& entries = member;
      for (auto it = entries.end(); it != entries.begin();) {
        --it;
        Wrap(number, [&] {
          WriteValue(2, it->second);
          WriteValue(1, it->first);
        });
      }
    } else if constexpr (kIsVector<V>) {
      for (auto it = member.rbegin(); it != member.rend(); ++it) {
        WriteValue(number, static_cast<const typename V::value_type&>(*it));
      }
    } else if constexpr (kIsOptional<V>) {
      if constexpr (kIsMap<std::remove_cvref_t<decltype(*member)>>) {
        if (member) WriteMember(number, *member);  // an empty one is none: protobuf has no other
      } else {
        if (member) WriteValue(number, *member);
      }
    } else {
      WriteValue(number, member);
    }
  }

  template <Message T>
  void WriteValue(uint32_t number, const T& value) {
    Wrap(number, [&] { Write(value); });
  }
  void WriteValue(uint32_t number, const std::string& value) {
    Wrap(number, [&] { out_.Prepend(value); });
  }
  template <class T>
    requires std::is_integral_v<T>
  void WriteValue(uint32_t number, T value) {
    out_.PrependVarint(static_cast<uint64_t>(static_cast<int64_t>(value)));
    out_.PrependTag(number, WireType::kVarint);
  }
  template <class T>
    requires kIsTime<T>
  void WriteValue(uint32_t number, const T& value) {
    using std::chrono::floor;
    using std::chrono::seconds;
    const auto since_1970 = value.at.time_since_epoch();
    const auto whole = floor<seconds>(since_1970);
    // Time drops what is below a second, MicroTime what is below a microsecond; see scalars.cc.
    const int64_t micros = floor<std::chrono::microseconds>(since_1970 - whole).count();
    const int64_t nanos = std::is_same_v<T, model::MicroTime> ? micros * 1000 : 0;
    Wrap(number, [&] {
      WriteValue(2, nanos);
      WriteValue(1, int64_t{whole.count()});
    });
  }
  void WriteValue(uint32_t number, const model::Quantity& value) {
    Wrap(number, [&] { WriteValue(1, value.ToString()); });
  }
  void WriteValue(uint32_t number, const model::IntOrString& value) {
    Wrap(number, [&] {
      WriteValue(3, value.text);
      WriteValue(2, value.number);
      WriteValue(1, int64_t{value.is_string});
    });
  }
  void WriteValue(uint32_t number, const model::Bytes& value) { WriteValue(number, value.data); }

  BackwardBytes out_;
};

}  // namespace coppice::wire
