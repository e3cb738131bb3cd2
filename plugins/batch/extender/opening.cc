#include "plugins/batch/extender/opening.h"

#include <functional>
#include <utility>

#include "plugins/batch/extender/go_text.h"

namespace coppice::batch::extender {
namespace {

constexpr std::array<std::string_view, 4> kNames{"Jobs", "Nodes", "Queues", "NamespaceInfo"};

}  // namespace

void Opening::Begin(std::string_view session) {
  session_ = session;
  for (size_t i = 0; i < kKinds; ++i) {
    now_[i].clear();
    texts_[i].clear();
  }
}

void Opening::Add(Kind kind, std::string_view name, std::string text) {
  const auto i = static_cast<size_t>(kind);
  const uint64_t number = std::hash<std::string>()(text);
  now_[i].emplace(name, number);
  const auto before = shown_[i].find(name);
  if (is_delta() && before != shown_[i].end() && before->second == number) return;
  texts_[i].emplace(name, std::move(text));
}

std::string Opening::Take() {
  std::string out = R"({"Session":)";
  AppendGoText(out, session_);
  if (is_delta()) {
    out += R"(,"Base":)";
    AppendGoText(out, base_);
  }
  for (size_t i = 0; i < kKinds; ++i) {
    out += ",\"";
    out += kNames[i];
    out += "\":{";
    for (const auto& [name, text] : texts_[i]) {
      if (out.back() != '{') out += ',';
      AppendGoText(out, name);
      out += ':';
      out += text;
    }
    out += '}';
    texts_[i].clear();
  }
  if (is_delta()) {
    out += R"(,"Gone":{)";
    for (size_t i = 0; i < kKinds; ++i) {
      if (i > 0) out += ',';
      out += '"';
      out += kNames[i];
      out += "\":[";
      for (const auto& [name, number] : shown_[i]) {
        if (now_[i].contains(name)) continue;
        if (out.back() != '[') out += ',';
        AppendGoText(out, name);
      }
      out += ']';
    }
    out += '}';
  }
  shown_ = std::move(now_);
  return out + '}';
}

void Opening::Forget() {
  base_.clear();
  for (Shown& shown : shown_) shown.clear();
}

}  // namespace coppice::batch::extender
