// JsonOut: JSON text written from the outside in, commas and quotes taken care of. Keys appear in
// the order in which they are written.
//
//   JsonOut out;
//   out.Open('{').Key("node").Text(name).Key("pods").Open('[');
//   for (...) out.Text(pod);
//   out.Close(']').Close('}');
//   std::puts(out.Take().c_str());

#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace coppice::report {

class JsonOut {
 public:
  JsonOut& Open(char bracket);
  JsonOut& Close(char bracket);
  JsonOut& Key(std::string_view key);
  JsonOut& Text(std::string_view text);
  JsonOut& Int(int64_t value);
  JsonOut& Real(double value);  // null if it is not finite: JSON has no other word for it
  JsonOut& Bool(bool value);
  JsonOut& Raw(std::string_view json);  // a whole value that is JSON already

  // A key and its value, in one.
  JsonOut& Field(std::string_view key, std::string_view text) { return Key(key).Text(text); }
  JsonOut& Field(std::string_view key, const char* text) { return Key(key).Text(text); }
  JsonOut& Field(std::string_view key, const std::string& text) { return Key(key).Text(text); }
  JsonOut& Field(std::string_view key, bool value) { return Key(key).Bool(value); }
  JsonOut& Field(std::string_view key, std::floating_point auto value) {
    return Key(key).Real(value);
  }
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  JsonOut& Field(std::string_view key, T value) {
    return Key(key).Int(static_cast<int64_t>(value));
  }

  std::string Take() { return std::move(out_); }

 private:
  void Next();  // a comma, if something stands before

  std::string out_;
  bool first_ = true;
  bool after_key_ = false;
};

}  // namespace coppice::report
