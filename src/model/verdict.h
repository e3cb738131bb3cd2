// Verdict: may this pod run there? Yes, or no with who said so, how final it is and why.
//
// An answer and not a failure: what goes wrong outside is a Status. A yes is a null pointer and
// costs nothing; a no shares its immutable refusal, so that one kept by a table is handed out as
// cheaply. A filter that says no to many nodes for the same reason should build the refusal once.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coppice::model {

// kube-scheduler's codes. Unresolvable: removing other pods from the node would not help.
enum class VerdictCode : uint8_t { kUnschedulable, kUnschedulableAndUnresolvable, kError };

std::string_view ToString(VerdictCode code);  // as kube-scheduler spells it

// What was missing and by how much: asked > free. In the unit of the column (cpu in thousandths,
// the rest in units); for a resource named "pods", or for whatever else a filter counts.
struct Shortfall {
  std::string what;  // cpu, memory, nvidia.com/gpu, pods, ...
  int64_t asked = 0;
  int64_t free = 0;      // left for this pod; below zero on an overcommitted node
  int64_t capacity = 0;  // what an empty node would have: asked > capacity never fits
  int64_t missing() const { return asked - free; }
  friend bool operator==(const Shortfall&, const Shortfall&) = default;
};

struct Refusal {
  std::string_view
      plugin;  // kube-scheduler's name of the filter; must outlive the verdict. Empty: no plug-in
  VerdictCode code = VerdictCode::kUnschedulable;
  std::vector<std::string> reasons;  // kube-scheduler's texts; a set, the order means nothing
  std::vector<Shortfall> shortfalls;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

class [[nodiscard]] Verdict {
 public:
  static Verdict Yes() { return {}; }
  static Verdict No(Refusal refusal) {
    return Verdict(std::make_shared<const Refusal>(std::move(refusal)));
  }
  static Verdict No(std::string_view plugin, VerdictCode code, std::string reason) {
    return No(Refusal{.plugin = plugin, .code = code, .reasons = {std::move(reason)}});
  }

  bool yes() const { return refusal_ == nullptr; }
  explicit operator bool() const { return yes(); }

  // Of a no. Of a yes: empty, and the code means nothing.
  const Refusal& refusal() const;
  std::string_view plugin() const { return refusal().plugin; }
  VerdictCode code() const { return refusal().code; }
  const std::vector<std::string>& reasons() const { return refusal().reasons; }
  const std::vector<Shortfall>& shortfalls() const { return refusal().shortfalls; }

  std::string reason() const;    // the reasons, ", " between them
  std::string ToString() const;  // "yes" or "NodeResourcesFit: Unschedulable: Insufficient cpu"

  friend bool operator==(const Verdict& a, const Verdict& b) {
    return a.refusal_ == b.refusal_ || (a.refusal_ && b.refusal_ && *a.refusal_ == *b.refusal_);
  }

 private:
  Verdict() = default;
  explicit Verdict(std::shared_ptr<const Refusal> refusal) : refusal_(std::move(refusal)) {}

  std::shared_ptr<const Refusal> refusal_;  // null: yes
};

}  // namespace coppice::model
