#include "model/verdict.h"

#include "base/strings.h"

namespace coppice::model {

std::string_view ToString(VerdictCode code) {
  switch (code) {
    case VerdictCode::kUnschedulable:
      return "Unschedulable";
    case VerdictCode::kUnschedulableAndUnresolvable:
      return "UnschedulableAndUnresolvable";
    case VerdictCode::kError:
      return "Error";
  }
  return "";
}

const Refusal& Verdict::refusal() const {
  static const Refusal kNone;
  return refusal_ ? *refusal_ : kNone;
}

std::string Verdict::reason() const { return Join(reasons(), ", "); }

std::string Verdict::ToString() const {
  if (yes()) return "yes";
  std::string out(plugin());
  if (!out.empty()) out += ": ";
  out += model::ToString(code());
  if (!reasons().empty()) out += ": " + reason();
  return out;
}

}  // namespace coppice::model
