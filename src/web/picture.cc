#include "web/picture.h"

#include <algorithm>
#include <chrono>

#include "base/strings.h"
#include "report/json_out.h"

namespace coppice::web {
namespace {

using Fragments = std::map<std::string, std::string, std::less<>>;

// The head of a document, up to where its sections begin.
std::string Head(uint64_t seq, TimePoint at, const std::string& total) {
  std::string text = R"({"seq":)" + std::to_string(seq) + R"(,"at":)" + std::to_string(Unix(at));
  if (!total.empty()) text += R"(,"total":)" + total;
  return text;
}

void AppendSections(const Picture& picture, std::string& text) {
  for (size_t i = 0; i < kSectionNames.size(); ++i) {
    const Fragments& section = picture.sections[i];
    if (section.empty()) continue;
    text += ",\"";
    text += kSectionNames[i];
    text += "\":{";
    bool first = true;
    for (const auto& [name, json] : section) {
      if (!first) text += ',';
      first = false;
      AppendJsonString(text, name);
      text += ':';
      text += json;
    }
    text += '}';
  }
}

}  // namespace

int64_t Unix(TimePoint at) {
  return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
}

bool Delta::empty() const {
  return set.total.empty() &&
         std::ranges::all_of(set.sections, [](const auto& s) { return s.empty(); }) &&
         std::ranges::all_of(gone, [](const auto& g) { return g.empty(); });
}

Delta Difference(const Picture& from, const Picture& to) {
  Delta delta;
  if (from.total != to.total) delta.set.total = to.total;
  for (size_t i = 0; i < kSectionNames.size(); ++i) {
    // Both are sorted: one walk.
    auto old = from.sections[i].begin();
    const auto old_end = from.sections[i].end();
    for (const auto& [name, json] : to.sections[i]) {
      for (; old != old_end && old->first < name; ++old) delta.gone[i].push_back(old->first);
      const bool known = old != old_end && old->first == name;
      if (!known || old->second != json)
        delta.set.sections[i].emplace_hint(delta.set.sections[i].end(), name, json);
      if (known) ++old;
    }
    for (; old != old_end; ++old) delta.gone[i].push_back(old->first);
  }
  return delta;
}

std::string_view WordOf(Told::Kind kind) {
  static constexpr std::string_view kWords[] = {"bought", "fits", "awaits", "unserved", "unhelped"};
  return kWords[static_cast<size_t>(kind)];
}

const Told* ToldBy::best() const {
  if (!pools) return groups ? &*groups : nullptr;
  return groups && groups->kind <= pools->kind ? &*groups : &*pools;
}

void Apply(const Delta& delta, Picture& to) {
  if (!delta.set.total.empty()) to.total = delta.set.total;
  for (size_t i = 0; i < kSectionNames.size(); ++i) {
    for (const std::string& name : delta.gone[i]) to.sections[i].erase(name);
    for (const auto& [name, json] : delta.set.sections[i]) to.sections[i][name] = json;
  }
}

std::string ToJson(const Delta& delta, uint64_t seq, TimePoint at) {
  std::string text = Head(seq, at, delta.set.total);
  AppendSections(delta.set, text);
  bool any = false;
  for (size_t i = 0; i < kSectionNames.size(); ++i) {
    if (delta.gone[i].empty()) continue;
    text += any ? ",\"" : ",\"gone\":{\"";
    any = true;
    text += kSectionNames[i];
    text += "\":[";
    for (size_t j = 0; j < delta.gone[i].size(); ++j) {
      if (j > 0) text += ',';
      AppendJsonString(text, delta.gone[i][j]);
    }
    text += ']';
  }
  if (any) text += '}';
  return text + '}';
}

std::string ToJson(const Picture& picture, uint64_t seq, TimePoint at) {
  std::string text = Head(seq, at, picture.total.empty() ? "{}" : picture.total);
  AppendSections(picture, text);
  return text + '}';
}

}  // namespace coppice::web
