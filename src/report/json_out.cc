#include "report/json_out.h"

#include <charconv>
#include <cmath>

#include "base/strings.h"

namespace coppice::report {

void JsonOut::Next() {
  if (!first_ && !after_key_) out_ += ',';
  first_ = false;
  after_key_ = false;
}

JsonOut& JsonOut::Open(char bracket) {
  Next();
  out_ += bracket;
  first_ = true;
  return *this;
}

JsonOut& JsonOut::Close(char bracket) {
  out_ += bracket;
  first_ = false;
  return *this;
}

JsonOut& JsonOut::Key(std::string_view key) {
  Next();
  AppendJsonString(out_, key);
  out_ += ':';
  after_key_ = true;
  return *this;
}

JsonOut& JsonOut::Text(std::string_view text) {
  Next();
  AppendJsonString(out_, text);
  return *this;
}

JsonOut& JsonOut::Int(int64_t value) {
  Next();
  out_ += std::to_string(value);
  return *this;
}

JsonOut& JsonOut::Real(double value) {
  Next();
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  if (!std::isfinite(value) || error != std::errc()) {
    out_ += "null";
  } else {
    out_.append(buffer, end);
  }
  return *this;
}

JsonOut& JsonOut::Raw(std::string_view json) {
  Next();
  out_ += json;
  return *this;
}

JsonOut& JsonOut::Bool(bool value) {
  Next();
  out_ += value ? "true" : "false";
  return *this;
}

}  // namespace coppice::report
