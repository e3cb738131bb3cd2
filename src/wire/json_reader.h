// JSON in: fills a value from an object's text, by its table. Like proto_reader it overwrites what
// the value held and reuses its memory. null is the same as absent; of a key that occurs twice the
// last one counts, as in Go; unknown keys are skipped, but have to be valid JSON.
//
// Included by codec.h only. Long because one reader of all kinds of members is easier to follow.

#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "model/objects.h"
#include "wire/fields.h"
#include "wire/json_cursor.h"
#include "wire/reading.h"
#include "wire/scalars.h"
#include "wire/time_text.h"

namespace coppice::wire {

class JsonReader {
 public:
  JsonReader(JsonCursor& in, Reading& reading) : in_(in), reading_(reading) {}

  // For the outermost object only: what its kind and apiVersion say, empty if they are absent.
  struct TypeMeta {
    std::string kind;
    std::string api_version;
  };

  template <Message T>
  bool Read(T& out, TypeMeta* type_meta = nullptr) {
    if constexpr (std::is_same_v<T, model::PodSpec>) {
      reading_.in_pod_spec = true;
      reading_.unkept.Begin();
      const bool read = ReadObject(Fields<T>::kTable, out, type_meta);
      reading_.in_pod_spec = false;
      if (read) out.unkept_hash = reading_.unkept.Finish(out);
      return read;
    } else {
      return ReadObject(Fields<T>::kTable, out, type_meta);
    }
  }

 private:
  // How many places of a table remember whether their key has occurred: an inlined table has its
  // own.
  template <class Line>
  static constexpr size_t WidthOf() {
    if constexpr (kIsInline<Line>) {
      return TableWidth(static_cast<decltype(Line::table)*>(nullptr));
    } else {
      return 1;
    }
  }
  template <class... Lines>
  static constexpr size_t TableWidth(const std::tuple<Lines...>*) {
    return (size_t{0} + ... + WidthOf<Lines>());
  }

  template <class Table, class Owner>
  bool ReadObject(const Table& table, Owner& owner, TypeMeta* type_meta = nullptr) {
    std::array<bool, TableWidth(static_cast<const Table*>(nullptr))> seen{};
    if (!in_.Open('{')) return Broken();
    bool first = true;
    while (in_.Next('}', first)) {
      std::string_view key;
      if (!in_.ReadKey(key)) return Broken();
      bool read = true;
      if (Dispatch(table, key, owner, seen.data(), read)) {
        if (!read) return false;
      } else if (!ReadUnknown(key, type_meta)) {
        return false;
      }
    }
    if (in_.failed()) return Broken();
    ClearUnseen(table, owner, seen.data());
    return true;
  }

  template <class... Lines, class Owner>
  bool Dispatch(const std::tuple<Lines...>& table, std::string_view key, Owner& owner, bool* seen,
                bool& read) {
    return std::apply(
        [&](const auto&... line) {
          return (
              DispatchLine(line, key, owner, std::exchange(seen, seen + WidthOf<Lines>()), read) ||
              ...);
        },
        table);
  }

  template <class Line, class Owner>
  bool DispatchLine(const Line& line, std::string_view key, Owner& owner, bool* seen, bool& read) {
    if constexpr (kIsInline<Line>) {
      return Dispatch(line.table, key, owner, seen, read);
    } else {
      if (key != line.name) return false;
      const char* value = Here();
      if (in_.TakeNull()) {
        *seen = false;
        return true;
      }
      *seen = true;
      read = !in_.failed() ? ReadLine(line, owner) || reading_.trouble.In(line.name) : Broken();
      if (!read && Forgive(value)) {
        read = true;
        *seen = false;
      }
      return true;
    }
  }

  template <class... Lines, class Owner>
  void ClearUnseen(const std::tuple<Lines...>& table, Owner& owner, const bool* seen) {
    std::apply(
        [&](const auto&... line) {
          (ClearLineUnseen(line, owner, std::exchange(seen, seen + WidthOf<Lines>())), ...);
        },
        table);
  }

  template <class Line, class Owner>
  void ClearLineUnseen(const Line& line, Owner& owner, const bool* seen) {
    if constexpr (kIsInline<Line>) {
      ClearUnseen(line.table, owner, seen);
    } else if (!*seen) {
      ClearLine(line, owner);
    }
  }

  bool Broken() { return reading_.trouble.Is(in_.problem()); }

  // Where the next value begins, for Forgive.
  const char* Here() {
    in_.Peek();
    return in_.at();
  }
  // Whether what could not be read is left out and the reading goes on behind it.
  bool Forgive(const char* value) { return reading_.lenient && in_.SkipLoosely(value); }

  bool ReadUnknown(std::string_view key, TypeMeta* type_meta) {
    if (type_meta != nullptr && (key == "kind" || key == "apiVersion")) {
      std::string& text = key == "kind" ? type_meta->kind : type_meta->api_version;
      const bool is_kind = key == "kind";
      return ReadScalar(text) || reading_.trouble.In(is_kind ? "kind" : "apiVersion");
    }
    const uint64_t field = reading_.in_pod_spec ? KeyHash(key) : 0;
    const char* start = Here();
    if (!in_.Skip()) return Broken(), Forgive(start);
    if (!reading_.in_pod_spec) return true;
    reading_.unkept.Add(field, {start, static_cast<size_t>(in_.at() - start)});
    return true;
  }

  // FNV-1a: any hash will do, keys are short.
  static constexpr uint64_t KeyHash(std::string_view key) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    return hash;
  }

  // ---- lines ----

  template <uint32_t N, class O, class V, class Owner>
  bool ReadLine(const FieldLine<N, O, V>& line, Owner& owner) {
    SpecStep step(reading_, N);
    return ReadMember(owner.*line.member);
  }

  template <uint32_t N, bool L, class Table, class Owner>
  bool ReadLine(const GroupLine<N, L, Table>& line, Owner& owner) {
    SpecStep step(reading_, N);
    if (!ReadObject(line.table, owner)) return false;
    if constexpr (L) {
      auto& leader = owner.*std::get<0>(line.table).member;
      if (!leader) leader.emplace();
    }
    return true;
  }

  template <uint32_t N, bool H, class O, class Owner>
  bool ReadLine(const PresenceLine<N, H, O>& line, Owner& owner) {
    owner.*line.member = true;
    const char* start = in_.at();
    if (in_.Peek() != '{') return reading_.trouble.Is("expected an object");
    if (!in_.Skip()) return Broken();
    if (H && reading_.in_pod_spec) {
      reading_.unkept.Add(N, {start, static_cast<size_t>(in_.at() - start)});
    }
    return true;
  }

  template <uint32_t N, uint32_t Inner, class O, class Owner>
  bool ReadLine(const TextsLine<N, Inner, O>& line, Owner& owner) {
    auto& texts = owner.*line.member;
    texts.clear();
    if (!in_.Open('[')) return Broken();
    bool first = true;
    while (in_.Next(']', first)) {
      Wrapped wrapped;
      const auto table = std::tuple{Field<Inner>(line.inner_name, &Wrapped::text)};
      if (!ReadObject(table, wrapped)) return reading_.trouble.In(texts.size());
      texts.push_back(std::move(wrapped.text));
    }
    return !in_.failed() || Broken();
  }

  struct Wrapped {
    std::string text;
  };

  template <uint32_t N, class Owner>
  bool ReadLine(const OverlookedLine<N>&, Owner&) {
    return in_.Skip() || Broken();
  }

  template <uint32_t N, class Owner>
  bool ReadLine(const MountsLine<N>&, Owner&) {
    if (!in_.Open('[')) return Broken();
    bool first = true;
    while (in_.Next(']', first)) {
      in_.Peek();
      const char* start = in_.at();
      std::string_view volume;
      if (!SkipMount(volume)) return Broken();
      if (reading_.in_pod_spec) {
        reading_.unkept.AddMount(volume, {start, static_cast<size_t>(in_.at() - start)});
      }
    }
    return !in_.failed() || Broken();
  }

  // `volume` becomes what stands between the quotes of its name, which is a view that lasts: a
  // volume's name has no escapes.
  bool SkipMount(std::string_view& volume) {
    if (!in_.Open('{')) return false;
    bool first = true;
    while (in_.Next('}', first)) {
      std::string_view key;
      if (!in_.ReadKey(key)) return false;
      const bool is_name = key == "name" && in_.Peek() == '"';
      in_.Peek();
      const char* start = in_.at();
      if (!in_.Skip()) return false;
      if (is_name) volume = {start + 1, static_cast<size_t>(in_.at() - start) - 2};
    }
    return !in_.failed();
  }

  // ---- members ----

  template <class V>
  bool ReadMember(V& member) {
    if constexpr (kIsMap<V>) {
      return ReadMap(member);
    } else if constexpr (kIsVector<V>) {
      return ReadArray(member);
    } else if constexpr (kIsOptional<V>) {
      if (!member) member.emplace();
      using Inner = std::remove_cvref_t<decltype(*member)>;
      if constexpr (kIsVector<Inner>) {
        return ReadArray(*member);  // an empty list that is not the same as none
      } else if constexpr (kIsMap<Inner>) {
        return ReadMap(*member);  // likewise
      } else {
        bool zero_time = false;
        const bool read = ReadValue(*member, &zero_time);
        if (zero_time) member.reset();
        return read;
      }
    } else {
      return ReadValue(member);
    }
  }

  template <class V>
  bool ReadMap(model::FlatMap<V>& map) {
    auto& entries = map.raw_entries();
    size_t count = 0;
    if (!in_.Open('{')) return Broken();
    bool first = true;
    while (in_.Next('}', first)) {
      auto& entry = count < entries.size() ? entries[count] : entries.emplace_back();
      ++count;
      std::string_view key;
      if (!in_.ReadKey(key)) return Broken();
      entry.first.assign(key);
      const char* value = Here();
      if (!ReadElement(entry.second)) {
        reading_.trouble.InKey(entry.first);
        if (!Forgive(value)) return false;
        --count;
      }
    }
    if (in_.failed()) return Broken();
    map.Settle(count);
    return true;
  }

  template <class V>
  bool ReadArray(std::vector<V>& array) {
    size_t count = 0;
    if (!in_.Open('[')) return Broken();
    bool first = true;
    while (in_.Next(']', first)) {
      if (count == array.size()) array.emplace_back();
      const char* value = Here();
      bool read;
      if constexpr (std::is_same_v<V, bool>) {
        bool flag = false;
        read = ReadElement(flag);
        array[count] = flag;
      } else {
        SpecStep step(reading_, count);
        read = ReadElement(array[count]);
      }
      if (read) {
        ++count;
      } else if (reading_.trouble.In(count); !Forgive(value)) {
        return false;
      }
    }
    if (in_.failed()) return Broken();
    array.resize(count);
    return true;
  }

  // In an array or map null is the empty value, as in Go.
  template <class T>
  bool ReadElement(T& value) {
    if (in_.TakeNull()) {
      Clear(value);
      return true;
    }
    return !in_.failed() ? ReadValue(value) : Broken();
  }

  template <class T>
  bool ReadValue(T& value, bool* zero_time = nullptr) {
    if constexpr (Message<T>) {
      return Read(value);
    } else if constexpr (kIsTime<T>) {
      std::string_view text;
      if (!in_.ReadText(text)) return Broken();
      if (zero_time != nullptr && IsGoZeroTime(text)) {
        *zero_time = true;
        return true;
      }
      return TimeFromText(text, value, reading_.trouble);
    } else {
      return ReadScalar(value);
    }
  }

  bool ReadScalar(std::string& value) {
    std::string_view text;
    if (!in_.ReadText(text)) return Broken();
    value.assign(text);
    return true;
  }

  bool ReadScalar(bool& value) { return in_.ReadBool(value) || Broken(); }

  bool ReadScalar(int64_t& value) { return in_.ReadInteger(value) || Broken(); }

  bool ReadScalar(int32_t& value) {
    int64_t wide;
    if (!in_.ReadInteger(wide)) return Broken();
    if (wide < std::numeric_limits<int32_t>::min() || wide > std::numeric_limits<int32_t>::max()) {
      return reading_.trouble.Is("a number out of range", Flaw::kNumber);
    }
    value = static_cast<int32_t>(wide);
    return true;
  }

  bool ReadScalar(model::Quantity& value) {
    std::string_view text;
    const bool read = in_.Peek() == '"' ? in_.ReadText(text) : in_.ReadNumber(text);
    if (!read) return Broken();
    // Go trims a quantity before it parses it, but only when it comes as JSON.
    const auto from = text.find_first_not_of(" \t\n\v\f\r");
    if (from != std::string_view::npos) {
      text = text.substr(from, text.find_last_not_of(" \t\n\v\f\r") - from + 1);
    }
    return QuantityFromText(text, value, reading_);
  }

  bool ReadScalar(model::IntOrString& value) {
    value.is_string = in_.Peek() == '"';
    value.number = 0;
    value.text.clear();
    return value.is_string ? ReadScalar(value.text) : ReadScalar(value.number);
  }

  bool ReadScalar(model::Bytes& value) {
    std::string_view text;
    if (!in_.ReadText(text)) return Broken();
    return BytesFromBase64(text, value, reading_.trouble);
  }

  JsonCursor& in_;
  Reading& reading_;
};

}  // namespace coppice::wire
