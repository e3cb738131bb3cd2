// Why a pod was refused by every pool: facts in the loop, words only for those who stay refused.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "provision/solver.h"
#include "provision/topology.h"

namespace coppice::provision {

// What kept all instance types out: which single criterion, or which pair of them.
struct TypeFlags {
  bool requirements_met = false;
  bool fits = false;
  bool has_offering = false;
  bool requirements_and_fits = false;
  bool requirements_and_offering = false;
  bool fits_and_offering = false;
};

struct TemplateRefusal {
  enum class What : uint8_t {
    kNodeLimit,
    kLimits,
    kTaints,
    kVolumeLimit,
    kIncompatible,
    kIncompatibleVolumes,
    kTopology,
    kTopologyIncompatible,
    kTypes,
    kMinValues,
    kReservation,       // wait for it
    kReservationPlain,  // take another pool
  };
  What what = What::kLimits;
  size_t template_index = 0;
  uint32_t run_class = 0;
  SetId offer = 0;   // what was there
  SetId demand = 0;  // what was asked of it
  size_t alternative = 0;
  GroupIndex group = 0;
  std::string host;
  TypeFlags flags;
  uint64_t daemon_groups = 0;  // those whose overhead was looked at, as bits
  std::string text;
};

struct Refusal {
  PodErrorKind kind = PodErrorKind::kUnschedulable;
  std::string text;  // instead of the templates'
  std::vector<TemplateRefusal> templates;
};

// The sentence for instance types, without requirements and resources.
std::string TypesSentence(const TypeFlags& flags);
// {"cpu":"1","pods":"1"}
std::string ResourcesText(const model::ResourceList& resources);

}  // namespace coppice::provision
