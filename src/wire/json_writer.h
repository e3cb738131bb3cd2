// JSON out, by a value's table: compact, in the order of the table, without what is empty unless
// the table says that it is written anyway. Included by codec.h only.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "model/objects.h"
#include "wire/fields.h"
#include "wire/json_text.h"
#include "wire/scalars.h"
#include "wire/time_text.h"

namespace coppice::wire {

class JsonWriter {
 public:
  // `kind` and `api_version` come first; empty ones are left out.
  template <Message T>
  void Write(const T& value, std::string_view kind, std::string_view api_version) {
    out_ += '{';
    if (!kind.empty()) {
      WriteKey("kind");
      AppendJsonText(out_, kind);
    }
    if (!api_version.empty()) {
      WriteKey("apiVersion");
      AppendJsonText(out_, api_version);
    }
    WriteTable(Fields<T>::kTable, value);
    out_ += '}';
  }

  std::string Take() { return std::move(out_); }

 private:
  template <class Table, class Owner>
  void WriteTable(const Table& table, const Owner& owner) {
    std::apply([&](const auto&... line) { (WriteLine(line, owner), ...); }, table);
  }

  void WriteKey(std::string_view name) {
    if (out_.back() != '{') out_ += ',';
    AppendJsonText(out_, name);
    out_ += ':';
  }

  template <uint32_t N, class O, class V, class Owner>
  void WriteLine(const FieldLine<N, O, V>& line, const Owner& owner) {
    const V& member = owner.*line.member;
    if (line.empty == Empty::kOmitted && IsEmpty(member)) return;
    if constexpr (kIsOptional<V>) {
      if (!member) return;
      WriteKey(line.name);
      WriteValue(*member);
    } else {
      WriteKey(line.name);
      WriteValue(member);
    }
  }

  template <uint32_t N, bool L, class Table, class Owner>
  void WriteLine(const GroupLine<N, L, Table>& line, const Owner& owner) {
    if constexpr (L) {
      if (!(owner.*std::get<0>(line.table).member)) return;
    }
    const size_t before = out_.size();
    WriteKey(line.name);
    out_ += '{';
    WriteTable(line.table, owner);
    if (!L && out_.back() == '{') {
      out_.resize(before);
    } else {
      out_ += '}';
    }
  }

  template <uint32_t N, class Table, class Owner>
  void WriteLine(const InlineLine<N, Table>& line, const Owner& owner) {
    WriteTable(line.table, owner);
  }

  template <uint32_t N, bool H, class O, class Owner>
  void WriteLine(const PresenceLine<N, H, O>& line, const Owner& owner) {
    if (!(owner.*line.member)) return;
    WriteKey(line.name);
    out_ += "{}";
  }

  template <uint32_t N, uint32_t Inner, class O, class Owner>
  void WriteLine(const TextsLine<N, Inner, O>& line, const Owner& owner) {
    const auto& texts = owner.*line.member;
    if (texts.empty()) return;
    WriteKey(line.name);
    out_ += '[';
    for (const std::string& text : texts) {
      if (out_.back() != '[') out_ += ',';
      out_ += '{';
      WriteKey(line.inner_name);
      AppendJsonText(out_, text);
      out_ += '}';
    }
    out_ += ']';
  }

  template <uint32_t N, class Owner>
  void WriteLine(const OverlookedLine<N>&, const Owner&) {}
  template <uint32_t N, class Owner>
  void WriteLine(const MountsLine<N>&, const Owner&) {}

  template <class V>
  static bool IsEmpty(const V& member) {
    if constexpr (kIsOptional<V>) {
      return !member;
    } else if constexpr (kIsVector<V> || kIsMap<V> || std::is_same_v<V, std::string>) {
      return member.empty();
    } else if constexpr (std::is_integral_v<V>) {
      return member == 0;
    } else {
      return false;
    }
  }

  template <class V>
  void WriteValue(const V& value) {
    if constexpr (Message<V>) {
      out_ += '{';
      WriteTable(Fields<V>::kTable, value);
      out_ += '}';
    } else if constexpr (kIsMap<V>) {
      out_ += '{';
      for (const auto& [key, element] : value) {
        WriteKey(key);
        WriteValue(element);
      }
      out_ += '}';
    } else if constexpr (kIsVector<V>) {
      out_ += '[';
      for (const auto& element : value) {
        if (out_.back() != '[') out_ += ',';
        WriteValue(static_cast<const typename V::value_type&>(element));
      }
      out_ += ']';
    } else {
      WriteScalar(value);
    }
  }

  void WriteScalar(const std::string& value) { AppendJsonText(out_, value); }
  void WriteScalar(bool value) { out_ += value ? "true" : "false"; }
  void WriteScalar(int32_t value) { out_ += std::to_string(value); }
  void WriteScalar(int64_t value) { out_ += std::to_string(value); }
  void WriteScalar(const model::Time& value) { AppendJsonText(out_, FormatRfc3339(value.at)); }
  void WriteScalar(const model::MicroTime& value) {
    AppendJsonText(out_, FormatRfc3339Micro(value.at));
  }
  void WriteScalar(const model::Quantity& value) { AppendJsonText(out_, value.ToString()); }
  void WriteScalar(const model::Bytes& value) { AppendJsonText(out_, ToBase64(value.data)); }
  void WriteScalar(const model::IntOrString& value) {
    if (value.is_string) {
      AppendJsonText(out_, value.text);
    } else {
      out_ += std::to_string(value.number);
    }
  }

  std::string out_;
};

}  // namespace coppice::wire
