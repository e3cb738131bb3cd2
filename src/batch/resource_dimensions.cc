// Comparisons of Resource that name the dimensions they are about.

#include <algorithm>
#include <cmath>

#include "batch/resource.h"
#include "model/resources.h"

namespace coppice::batch {
namespace {

bool WithinEpsilon(double l, double r) { return l < r || std::abs(l - r) < kEpsilon; }

class NamedDimensions {
 public:
  void Cpu(bool named) { cpu_ = named; }
  void Memory(bool named) { memory_ = named; }
  void Add(ScalarKey key) { scalars_.push_back(ScalarName(key)); }

  std::vector<std::string> Take() && {
    std::vector<std::string> names;
    if (cpu_) names.emplace_back(model::kCpu);
    if (memory_) names.emplace_back(model::kMemory);
    std::ranges::sort(scalars_);
    names.insert(names.end(), scalars_.begin(), scalars_.end());
    return names;
  }

 private:
  bool cpu_ = false;
  bool memory_ = false;
  std::vector<std::string> scalars_;
};

Dimensions AllWell(NamedDimensions&& failing) {
  Dimensions answer{.names = std::move(failing).Take()};
  answer.yes = answer.names.empty();
  return answer;
}

Dimensions Any(NamedDimensions&& found) {
  Dimensions answer{.names = std::move(found).Take()};
  answer.yes = !answer.names.empty();
  return answer;
}

const Resource kNothing;

}  // namespace

Dimensions LessEqualNamed(const Resource& a, const Resource& b, Missing missing) {
  NamedDimensions failing;
  failing.Cpu(!WithinEpsilon(a.cpu, b.cpu));
  failing.Memory(!WithinEpsilon(a.memory, b.memory));
  for (const auto& [key, value] : a.scalars()) {
    const double* other = b.Find(key);
    if (!other && missing == Missing::kInfinity) continue;
    if (!WithinEpsilon(value, other ? *other : 0)) failing.Add(key);
  }
  return AllWell(std::move(failing));
}

Dimensions LessEqualWhereAsked(const Resource* a, const Resource* b, const Resource* asked) {
  if (!a) return {.yes = true};
  if (!b) return {.yes = false, .names = a->Names()};
  if (!asked) return LessEqualNamed(*a, *b, Missing::kZero);
  NamedDimensions failing;
  failing.Cpu(asked->cpu > 0 && a->cpu > b->cpu);
  failing.Memory(asked->memory > 0 && a->memory > b->memory);
  if (a->has_scalars()) {
    for (const auto& [key, value] : asked->scalars()) {
      if (key != kPodsScalar && value > 0 && a->Get(key) > b->Get(key)) failing.Add(key);
    }
  }
  return AllWell(std::move(failing));
}

bool WithinCeiling(const Resource& a, const Resource& ceiling, const Resource& asked) {
  const auto within = [](double amount, double most) { return most <= 0 || amount <= most; };
  if (asked.cpu > 0 && !within(a.cpu, ceiling.cpu)) return false;
  if (asked.memory > 0 && !within(a.memory, ceiling.memory)) return false;
  return std::ranges::all_of(asked.scalars(), [&](const Resource::Scalar& scalar) {
    const double* most = ceiling.Find(scalar.key);
    return scalar.key == kPodsScalar || scalar.value <= 0 || !most || a.Get(scalar.key) <= *most;
  });
}

Dimensions LessEqualSomewhereAsked(const Resource& a, const Resource& b, const Resource* asked) {
  if (!asked) return {};
  NamedDimensions found;
  found.Cpu(asked->cpu > 0 && WithinEpsilon(a.cpu, b.cpu));
  found.Memory(asked->memory > 0 && WithinEpsilon(a.memory, b.memory));
  for (const auto& [key, value] : asked->scalars()) {
    if (key != kPodsScalar && value > 0 && WithinEpsilon(a.Get(key), b.Get(key))) found.Add(key);
  }
  return Any(std::move(found));
}

Dimensions LessEqualSomewhereReal(const Resource& a, const Resource& b, const Resource* asked) {
  if (!asked) return {};
  const auto real = [](double l, double r) { return !(l < kEpsilon && r < kEpsilon); };
  Resource filtered;
  if (asked->cpu > 0 && real(a.cpu, b.cpu)) filtered.cpu = asked->cpu;
  if (asked->memory > 0 && real(a.memory, b.memory)) filtered.memory = asked->memory;
  for (const auto& [key, value] : asked->scalars()) {
    if (value > 0 && real(a.Get(key), b.Get(key))) filtered.Set(key, value);
  }
  return LessEqualSomewhereAsked(a, b, &filtered);
}

Dimensions GreaterSomewhereAsked(const Resource& a, const Resource* b, const Resource* asked) {
  if (!asked) return {};
  const Resource& other = b ? *b : kNothing;
  NamedDimensions found;
  found.Cpu(asked->cpu > 0 && a.cpu > other.cpu);
  found.Memory(asked->memory > 0 && a.memory > other.memory);
  for (const auto& [key, value] : asked->scalars()) {
    if (key != kPodsScalar && value > 0 && a.Get(key) > other.Get(key)) found.Add(key);
  }
  return Any(std::move(found));
}

Dimensions GreaterWhereRelevant(const Resource& a, const Resource* b, const Resource* asked) {
  if (!asked) return {};
  const Resource& other = b ? *b : kNothing;
  Resource filtered;
  if (asked->cpu > 0 && other.cpu >= kEpsilon) filtered.cpu = asked->cpu;
  if (asked->memory > 0 && other.memory >= kEpsilon) filtered.memory = asked->memory;
  for (const auto& [key, value] : asked->scalars()) {
    if (value > 0 && other.Find(key)) filtered.Set(key, value);
  }
  return GreaterSomewhereAsked(a, &other, &filtered);
}

std::vector<std::string> CommonNames(const Resource& a, const Resource& b) {
  std::vector<std::string> common;
  const auto theirs = b.Names();
  for (std::string& name : a.Names()) {
    if (std::ranges::find(theirs, name) != theirs.end()) common.push_back(std::move(name));
  }
  return common;
}

bool HaveCommonName(const Resource& a, const Resource& b, bool pods_count) {
  const auto both = [](double l, double r) { return l >= kEpsilon && r >= kEpsilon; };
  if (both(a.cpu, b.cpu) || both(a.memory, b.memory)) return true;
  return std::ranges::any_of(a.scalars(), [&](const Resource::Scalar& scalar) {
    return (pods_count || scalar.key != kPodsScalar) && both(scalar.value, b.Get(scalar.key));
  });
}

}  // namespace coppice::batch
