// Resource: an amount of everything, as the batch scheduler computes with it.
//
// Doubles with an epsilon of 0.1, cpu in thousandths, memory in bytes, `pods` in units and every
// other scalar in thousandths of its unit. A resource that was never named differs from one that is
// named with zero, and no scalars at all (`null` in JSON) from an empty set of them: comparisons
// and what extenders are sent depend on it. Scalars are a short vector sorted by an interned key,
// so that adding and comparing touch no text.
//
// Values; any thread.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/pod.h"

namespace coppice::batch {

// What two amounts may differ by and still be equal.
inline constexpr double kEpsilon = 0.1;

// A scalar resource's name as a small number, the same one in the whole process. The table only
// grows: names come from nodes, queues and pod specs, of which a cluster has a handful.
using ScalarKey = uint32_t;
ScalarKey InternScalar(std::string_view name);
const std::string& ScalarName(ScalarKey key);
inline constexpr ScalarKey kPodsScalar = 0;  // always the first

// What a scalar counts as that the other side does not name.
enum class Missing { kZero, kInfinity };

// Whether a Resource has a dimension of that name: quota keys (count/pods, requests.*, limits.*) are
// none, though a minimum that Volcano's controllers have written names them.
bool IsDimension(std::string_view name);

class Resource {
 public:
  struct Scalar {
    ScalarKey key;
    double value;
    friend bool operator==(const Scalar&, const Scalar&) = default;
  };

  double cpu = 0;
  double memory = 0;
  int64_t max_tasks = 0;  // of a node: how many pods it takes

  Resource() = default;
  // Kubernetes' list; names that do not count are left out.
  static Resource From(const model::ResourceList& list);
  static Resource Infinite();

  bool has_scalars() const { return has_scalars_; }
  const std::vector<Scalar>& scalars() const { return scalars_; }
  const double* Find(ScalarKey key) const;
  double Get(ScalarKey key) const;          // 0 if absent
  double Get(std::string_view name) const;  // cpu and memory, too
  void Set(ScalarKey key, double value);
  void AddScalar(ScalarKey key, double value) { Set(key, Get(key) + value); }
  void MakeScalars() { has_scalars_ = true; }  // at least an empty set

  Resource& Add(const Resource& other);
  // Subtracts, whether there is enough or not, and answers if there was. Scalars of a resource
  // that has none at all stay as they are.
  bool Sub(const Resource& other);
  Resource& Scale(double ratio);
  void SetMax(const Resource& other);
  Resource& FitDelta(const Resource& other);
  // Each dimension at most the other's; one that it does not name counts as `missing`.
  Resource& CapBy(const Resource& other, Missing missing);

  bool IsEmpty() const;  // `pods` aside
  bool Less(const Resource& other, Missing missing) const;
  bool LessEqual(const Resource& other, Missing missing) const;
  bool LessPartly(const Resource& other, Missing missing) const;
  bool LessEqualPartly(const Resource& other, Missing missing) const;
  bool Equal(const Resource& other) const;

  // The names of all dimensions of at least epsilon, sorted; cpu and memory first.
  std::vector<std::string> Names() const;
  std::string ToString() const;

  friend bool operator==(const Resource&, const Resource&) = default;

 private:
  friend struct ResourceDiff;
  std::vector<Scalar> scalars_;  // by key
  bool has_scalars_ = false;
};

// An answer with the dimensions that it is about: cpu, memory, then scalars by name.
struct Dimensions {
  bool yes = false;
  std::vector<std::string> names;
};

// a <= b in every dimension; else the names of those where it is not.
Dimensions LessEqualNamed(const Resource& a, const Resource& b, Missing missing);
// The same for dimensions that `asked` has above zero, without epsilon and without `pods`. Null
// stands for no resource at all.
Dimensions LessEqualWhereAsked(const Resource* a, const Resource* b, const Resource* asked);
inline bool FitsWhereAsked(const Resource& a, const Resource& b, const Resource& asked) {
  return LessEqualWhereAsked(&a, &b, &asked).yes;
}
// What a ceiling does not name, or names with nothing of cpu or memory, has none.
bool WithinCeiling(const Resource& a, const Resource& ceiling, const Resource& asked);
// a <= b in some dimension that `asked` has above zero.
Dimensions LessEqualSomewhereAsked(const Resource& a, const Resource& b, const Resource* asked);
// Likewise, without dimensions that are nothing on both sides.
Dimensions LessEqualSomewhereReal(const Resource& a, const Resource& b, const Resource* asked);
// a > b in some dimension that `asked` has above zero.
Dimensions GreaterSomewhereAsked(const Resource& a, const Resource* b, const Resource* asked);
// Likewise, only in dimensions that b has anything of (cpu, memory) or names (scalars).
Dimensions GreaterWhereRelevant(const Resource& a, const Resource* b, const Resource* asked);

// What a has more than b, and what it has less.
struct ResourceDiff {
  Resource increased;
  Resource decreased;
  static ResourceDiff Of(const Resource& a, const Resource& b, Missing missing);
};
// What a has more than b. Null: as upstream, nothing to take away, or nothing there.
Resource ExceededPart(const Resource& a, const Resource& b);

// Dimensions of at least epsilon in both.
std::vector<std::string> CommonNames(const Resource& a, const Resource& b);
bool HaveCommonName(const Resource& a, const Resource& b, bool pods_count);

Resource Min(const Resource& a, const Resource& b);
Resource Max(const Resource& a, const Resource& b);
// l/r, with 0/0 nothing and x/0 everything.
double Share(double l, double r);
// The largest share of `allocated` in a dimension of `total`.
double DominantShare(const Resource& allocated, const Resource& total);

// What a status shows: cpu, memory and every scalar, also those of zero.
model::ResourceList ToResourceList(const Resource& resource);

}  // namespace coppice::batch
