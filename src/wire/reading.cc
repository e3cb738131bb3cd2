#include "wire/reading.h"

#include <xxhash.h>

#include <algorithm>

namespace coppice::wire {

std::string_view ToString(Flaw flaw) {
  switch (flaw) {
    case Flaw::kMalformed:
      return "malformed";
    case Flaw::kQuantity:
      return "quantity";
    case Flaw::kTime:
      return "time";
    case Flaw::kNumber:
      return "number";
  }
  return "";
}

bool Trouble::Is(std::string what, Flaw flaw) {
  what_ = std::move(what);
  flaw_ = flaw;
  return false;
}

bool Trouble::In(std::string_view field) {
  std::string path(field);
  if (!path_.empty() && path_.front() != '[') path += '.';
  path_ = path + path_;
  return false;
}

bool Trouble::In(size_t index) { return InKey(std::to_string(index)); }

bool Trouble::InKey(std::string_view key) {
  std::string path = "[";
  path += key;
  path += ']';
  if (!path_.empty() && path_.front() != '[') path += '.';
  path_ = path + path_;
  return false;
}

std::string Trouble::Text() const { return path_.empty() ? what_ : path_ + ": " + what_; }

Status Trouble::ToStatus() const { return InvalidArgument(Text()); }

model::Unreadable Trouble::ToUnreadable() const {
  // It goes into logs and answers, and who made the object chose keys and texts in it.
  constexpr size_t kLongest = 300;
  return {.what = Text().substr(0, kLongest), .reason = std::string(ToString(flaw_))};
}

void QuantityMemory::Remember(std::string_view text, const model::Quantity& value) {
  if (text.empty() || text.size() > kLongest) return;
  Entry& entry = entries_[Place(text)];
  std::ranges::copy(text, entry.text.begin());
  entry.length = static_cast<uint8_t>(text.size());
  entry.value = value;
}

void UnkeptHash::Add(uint64_t field, std::string_view bytes) {
  sum_ += XXH3_64bits_withSeed(bytes.data(), bytes.size(),
                               (where_ ^ (field + 1)) * 0x9E3779B97F4A7C15u);
}

void UnkeptHash::AddMount(std::string_view volume, std::string_view bytes) {
  mounts_.push_back({volume, XXH3_64bits_withSeed(bytes.data(), bytes.size(), where_)});
}

uint64_t UnkeptHash::Finish(const model::PodSpec& spec) const {
  uint64_t mounts = 0;
  for (const Mount& mount : mounts_) {
    const auto of_this_mount = [&](const model::Volume& v) { return v.name == mount.volume; };
    const auto volume = std::ranges::find_if(spec.volumes, of_this_mount);
    if (volume != spec.volumes.end() && volume->projected) continue;
    mounts = (mounts ^ mount.hash) * 0x9E3779B97F4A7C15u;  // their order is part of the spec
  }
  return sum_ ^ mounts;
}

}  // namespace coppice::wire
