#include "batch/resource.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "base/strings.h"
#include "model/resources.h"

namespace coppice::batch {
namespace {

constexpr double kMaxFloat = std::numeric_limits<double>::max();

class ScalarTable {
 public:
  ScalarTable() { Intern(model::kPods); }

  ScalarKey Intern(std::string_view name) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto it = keys_.find(name); it != keys_.end()) return it->second;
    }
    const std::unique_lock lock(mutex_);
    const auto [it, added] =
        keys_.try_emplace(std::string(name), static_cast<ScalarKey>(names_.size()));
    if (added) names_.push_back(it->first);
    return it->second;
  }

  const std::string& Name(ScalarKey key) {
    const std::shared_lock lock(mutex_);
    return names_[key];
  }

 private:
  std::shared_mutex mutex_;
  std::map<std::string, ScalarKey, std::less<>> keys_;
  std::deque<std::string> names_;  // references stay good
};

ScalarTable& TheScalars() {
  static ScalarTable& table = *new ScalarTable;
  return table;
}

bool AtMost(double l, double r) { return l < r || std::abs(l - r) < kEpsilon; }

// Walks two sorted lists; f(key, left or null, right or null).
template <class F>
void Merge(const std::vector<Resource::Scalar>& a, const std::vector<Resource::Scalar>& b, F f) {
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (j == b.size() || (i < a.size() && a[i].key < b[j].key)) {
      f(a[i].key, &a[i].value, static_cast<const double*>(nullptr));
      ++i;
    } else if (i == a.size() || b[j].key < a[i].key) {
      f(b[j].key, static_cast<const double*>(nullptr), &b[j].value);
      ++j;
    } else {
      f(a[i].key, &a[i].value, &b[j].value);
      ++i;
      ++j;
    }
  }
}

std::string Formatted(double value) {
  if (value == kMaxFloat) return "maxFloat";
  if (value == static_cast<double>(std::numeric_limits<int64_t>::max())) return "maxInt";
  return fmt::format("{:.2f}", value);
}

}  // namespace

ScalarKey InternScalar(std::string_view name) { return TheScalars().Intern(name); }
const std::string& ScalarName(ScalarKey key) { return TheScalars().Name(key); }

bool IsDimension(std::string_view name) {
  return name == model::kCpu || name == model::kMemory || name == model::kPods ||
         name == model::kEphemeralStorage ||
         (!name.starts_with("count/") && model::IsScalarResource(name));
}

Resource Resource::From(const model::ResourceList& list) {
  Resource r;
  for (const auto& [name, amount] : list) {
    if (name == model::kCpu) {
      r.cpu += static_cast<double>(amount.MilliValue());
    } else if (name == model::kMemory) {
      r.memory += static_cast<double>(amount.Value());
    } else if (name == model::kPods) {
      r.max_tasks += amount.Value();
      r.AddScalar(kPodsScalar, static_cast<double>(amount.Value()));
    } else if (IsDimension(name)) {
      r.AddScalar(InternScalar(name), static_cast<double>(amount.MilliValue()));
    }
  }
  return r;
}

Resource Resource::Infinite() {
  Resource r;
  r.cpu = r.memory = kMaxFloat;
  r.max_tasks = std::numeric_limits<int64_t>::max();
  return r;
}

const double* Resource::Find(ScalarKey key) const {
  const auto it = std::ranges::lower_bound(scalars_, key, {}, &Scalar::key);
  return it != scalars_.end() && it->key == key ? &it->value : nullptr;
}

double Resource::Get(ScalarKey key) const {
  const double* value = Find(key);
  return value ? *value : 0;
}

double Resource::Get(std::string_view name) const {
  if (name == model::kCpu) return cpu;
  if (name == model::kMemory) return memory;
  return Get(InternScalar(name));
}

void Resource::Set(ScalarKey key, double value) {
  has_scalars_ = true;
  const auto it = std::ranges::lower_bound(scalars_, key, {}, &Scalar::key);
  if (it != scalars_.end() && it->key == key) {
    it->value = value;
  } else {
    scalars_.insert(it, {key, value});
  }
}

Resource& Resource::Add(const Resource& other) {
  cpu += other.cpu;
  memory += other.memory;
  for (const Scalar& scalar : other.scalars_) AddScalar(scalar.key, scalar.value);
  return *this;
}

bool Resource::Sub(const Resource& other) {
  const bool enough = other.LessEqual(*this, Missing::kZero);
  cpu -= other.cpu;
  memory -= other.memory;
  if (has_scalars_) {
    for (const Scalar& scalar : other.scalars_) AddScalar(scalar.key, -scalar.value);
  }
  return enough;
}

Resource& Resource::Scale(double ratio) {
  cpu *= ratio;
  memory *= ratio;
  for (Scalar& scalar : scalars_) scalar.value *= ratio;
  return *this;
}

void Resource::SetMax(const Resource& other) {
  cpu = std::max(cpu, other.cpu);
  memory = std::max(memory, other.memory);
  for (const Scalar& scalar : other.scalars_) {
    const double* own = Find(scalar.key);
    if (!own || scalar.value > *own) Set(scalar.key, scalar.value);
  }
}

Resource& Resource::FitDelta(const Resource& other) {
  if (other.cpu > 0) cpu -= other.cpu + kEpsilon;
  if (other.memory > 0) memory -= other.memory + kEpsilon;
  has_scalars_ = true;
  for (const Scalar& scalar : other.scalars_) {
    if (scalar.value > 0) Set(scalar.key, Get(scalar.key) - (scalar.value + kEpsilon));
  }
  return *this;
}

Resource& Resource::CapBy(const Resource& other, Missing missing) {
  cpu = std::min(cpu, other.cpu);
  memory = std::min(memory, other.memory);
  for (Scalar& scalar : scalars_) {
    if (const double* theirs = other.Find(scalar.key)) {
      scalar.value = std::min(scalar.value, *theirs);
    } else if (missing == Missing::kZero) {
      scalar.value = 0;
    }
  }
  return *this;
}

bool Resource::IsEmpty() const {
  if (!(cpu < kEpsilon && memory < kEpsilon)) return false;
  return std::ranges::none_of(scalars_, [](const Scalar& scalar) {
    return scalar.key != kPodsScalar && scalar.value >= kEpsilon;
  });
}

namespace {

// Whether every dimension of a satisfies `holds` against b's.
template <class Holds>
bool Everywhere(const Resource& a, const Resource& b, Missing missing, Holds holds) {
  if (!holds(a.cpu, b.cpu) || !holds(a.memory, b.memory)) return false;
  bool all = true;
  Merge(a.scalars(), b.scalars(), [&](ScalarKey, const double* left, const double* right) {
    if (!left) {
      if (missing == Missing::kInfinity) all = false;
    } else if (right || missing == Missing::kZero) {
      all = all && holds(*left, right ? *right : 0);
    }
  });
  return all;
}

// Whether some does. With zero a scalar that only b names counts, with infinity one that only a
// does.
template <class Holds>
bool Somewhere(const Resource& a, const Resource& b, Missing missing, Holds holds) {
  if (holds(a.cpu, b.cpu) || holds(a.memory, b.memory)) return true;
  bool any = false;
  Merge(a.scalars(), b.scalars(), [&](ScalarKey, const double* left, const double* right) {
    if (!left) {
      any = any || missing == Missing::kZero;
    } else if (!right && missing == Missing::kInfinity) {
      any = true;
    } else {
      any = any || holds(*left, right ? *right : 0);
    }
  });
  return any;
}

constexpr auto kIsLess = [](double l, double r) { return l < r; };

}  // namespace

bool Resource::Less(const Resource& other, Missing missing) const {
  return Everywhere(*this, other, missing, kIsLess);
}
bool Resource::LessEqual(const Resource& other, Missing missing) const {
  return Everywhere(*this, other, missing, AtMost);
}
bool Resource::LessPartly(const Resource& other, Missing missing) const {
  return Somewhere(*this, other, missing, kIsLess);
}
bool Resource::LessEqualPartly(const Resource& other, Missing missing) const {
  return Somewhere(*this, other, missing, AtMost);
}

bool Resource::Equal(const Resource& other) const {
  const auto same = [](double l, double r) { return l == r || std::abs(l - r) < kEpsilon; };
  return same(cpu, other.cpu) && same(memory, other.memory) &&
         std::ranges::all_of(scalars_, [&](const Scalar& scalar) {
           return same(scalar.value, other.Get(scalar.key));
         });
}

std::vector<std::string> Resource::Names() const {
  std::vector<std::string> names;
  for (const Scalar& scalar : scalars_) {
    if (scalar.value >= kEpsilon) names.push_back(ScalarName(scalar.key));
  }
  std::ranges::sort(names);
  if (memory >= kEpsilon) names.insert(names.begin(), std::string(model::kMemory));
  if (cpu >= kEpsilon) names.insert(names.begin(), std::string(model::kCpu));
  return names;
}

std::string Resource::ToString() const {
  std::string text = fmt::format("cpu {}, memory {}", Formatted(cpu), Formatted(memory));
  std::vector<std::pair<std::string, double>> sorted;
  for (const Scalar& scalar : scalars_) sorted.emplace_back(ScalarName(scalar.key), scalar.value);
  std::ranges::sort(sorted);
  for (const auto& [name, value] : sorted) {
    text += fmt::format(", {} {}", name, Formatted(value));
  }
  return text;
}

ResourceDiff ResourceDiff::Of(const Resource& a, const Resource& b, Missing missing) {
  // Upstream writes a missing scalar as -1 where it means infinity, and calculates with that.
  const double absent = missing == Missing::kInfinity ? -1 : 0;
  ResourceDiff diff;
  const auto split = [](double l, double r, double& more, double& less) {
    (l > r ? more : less) = l > r ? l - r : r - l;
  };
  split(a.cpu, b.cpu, diff.increased.cpu, diff.decreased.cpu);
  split(a.memory, b.memory, diff.increased.memory, diff.decreased.memory);
  diff.increased.MakeScalars();
  diff.decreased.MakeScalars();
  Merge(a.scalars_, b.scalars_, [&](ScalarKey key, const double* left, const double* right) {
    const double l = left ? *left : absent;
    const double r = right ? *right : absent;
    if (l == -1) {
      diff.increased.Set(key, l);
    } else if (r == -1) {
      diff.decreased.Set(key, r);
    } else if (l > r) {
      diff.increased.Set(key, l - r);
    } else {
      diff.decreased.Set(key, r - l);
    }
  });
  return diff;
}

Resource ExceededPart(const Resource& a, const Resource& b) {
  return ResourceDiff::Of(a, b, Missing::kZero).increased;
}

Resource Min(const Resource& a, const Resource& b) {
  Resource r;
  r.cpu = std::min(a.cpu, b.cpu);
  r.memory = std::min(a.memory, b.memory);
  if (!a.has_scalars() || !b.has_scalars()) return r;
  r.MakeScalars();
  for (const auto& [key, value] : a.scalars()) r.Set(key, std::min(value, b.Get(key)));
  return r;
}

Resource Max(const Resource& a, const Resource& b) {
  Resource r;
  r.cpu = std::max(a.cpu, b.cpu);
  r.memory = std::max(a.memory, b.memory);
  if (!a.has_scalars() && !b.has_scalars()) return r;
  r.MakeScalars();
  for (const auto& [key, value] : a.scalars()) {
    if (value >= 0) r.Set(key, value);
  }
  for (const auto& [key, value] : b.scalars()) {
    if (value >= 0) r.Set(key, std::max(value, r.Get(key)));
  }
  return r;
}

double Share(double l, double r) {
  if (r == 0) return l == 0 ? 0 : 1;
  return l / r;
}

double DominantShare(const Resource& allocated, const Resource& total) {
  double most = 0;
  if (total.cpu >= kEpsilon) most = std::max(most, Share(allocated.cpu, total.cpu));
  if (total.memory >= kEpsilon) most = std::max(most, Share(allocated.memory, total.memory));
  for (const auto& [key, value] : total.scalars()) {
    if (value >= kEpsilon) most = std::max(most, Share(allocated.Get(key), value));
  }
  return most;
}

model::ResourceList ToResourceList(const Resource& resource) {
  using model::Quantity;
  model::ResourceList list;
  list[model::kCpu] = Quantity::FromMillis(static_cast<int64_t>(resource.cpu));
  list[model::kMemory] =
      Quantity::FromUnits(static_cast<int64_t>(resource.memory), Quantity::Format::kBinarySI);
  for (const auto& [key, value] : resource.scalars()) {
    const auto amount = static_cast<int64_t>(value);
    list[ScalarName(key)] =
        key == kPodsScalar ? Quantity::FromUnits(amount) : Quantity::FromMillis(amount);
  }
  return list;
}

}  // namespace coppice::batch
