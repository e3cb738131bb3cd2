#include "model/node_pool.h"

#include <cstdint>
#include <string_view>

namespace coppice::model {

void FillDefaults(NodePool& pool) {
  NodePoolDisruption& disruption = pool.spec.disruption;
  if (!disruption.consolidate_after) disruption.consolidate_after = "0s";
  if (disruption.consolidation_policy.empty()) {
    disruption.consolidation_policy = "WhenEmptyOrUnderutilized";
  }
  if (!disruption.budgets) disruption.budgets = {DisruptionBudget{.nodes = "10%"}};
  for (DisruptionBudget& budget : *disruption.budgets) {
    if (budget.nodes.empty()) budget.nodes = "10%";
  }
  FillDefaults(pool.spec.template_.spec);
}

namespace {

// The peer hashes its Go structs by reflection: the name of the type, then field by field (exported
// ones in order of declaration, empty ones left out) the pair of name and value, all mixed with
// FNV-1 of 64 bits. What follows is that, spelled out for the few types there are.
constexpr uint64_t kFnvOffset = 0xCBF29CE484222325u;
constexpr uint64_t kFnvPrime = 0x100000001B3u;

class Fnv {
 public:
  void Add(std::string_view bytes) {
    for (const char c : bytes) AddByte(static_cast<unsigned char>(c));
  }
  void Add(uint64_t number) {  // little-endian
    for (int i = 0; i < 8; ++i) AddByte(static_cast<unsigned char>(number >> (8 * i)));
  }
  uint64_t sum() const { return sum_; }

 private:
  void AddByte(unsigned char byte) { sum_ = (sum_ * kFnvPrime) ^ byte; }
  uint64_t sum_ = kFnvOffset;
};

uint64_t TemplateHashOfText(std::string_view text) {
  Fnv fnv;
  fnv.Add(text);
  return fnv.sum();
}

uint64_t TemplateHashOfNumber(int64_t number) {
  Fnv fnv;
  fnv.Add(static_cast<uint64_t>(number));
  return fnv.sum();
}

uint64_t Ordered(uint64_t a, uint64_t b) {
  Fnv fnv;
  fnv.Add(a);
  fnv.Add(b);
  return fnv.sum();
}

// A set that was mixed by XOR is mixed once more, lest parts of two sets cancel out.
uint64_t Finished(uint64_t hash) {
  Fnv fnv;
  fnv.Add(hash);
  return fnv.sum();
}

// A struct on its way. After each field that is there the whole is mixed again, so their order
// counts; a field that is absent or empty leaves no trace.
class StructHash {
 public:
  explicit StructHash(std::string_view type) : hash_(TemplateHashOfText(type)) {}
  void Field(std::string_view name, bool present, uint64_t value) {
    if (present) hash_ = Finished(hash_ ^ Ordered(TemplateHashOfText(name), value));
  }
  void Text(std::string_view name, std::string_view value) {
    Field(name, !value.empty(), TemplateHashOfText(value));
  }
  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_;
};

uint64_t TemplateHashOfLabels(const Labels& labels) {
  uint64_t hash = 0;
  for (const auto& [key, value] : labels) {
    hash ^= Ordered(TemplateHashOfText(key), TemplateHashOfText(value));
  }
  return Finished(hash);
}

uint64_t TemplateHashOfTaints(const std::vector<Taint>& taints) {
  uint64_t hash = 0;  // a list is a set, by XOR alone: twice the same is none
  for (const Taint& taint : taints) {
    StructHash one("Taint");
    one.Text("Key", taint.key);
    one.Text("Value", taint.value);
    one.Text("Effect", taint.effect);
    hash ^= one.hash();
  }
  return hash;
}

uint64_t TemplateHashOfClass(const NodeClassReference& reference) {
  StructHash hash("NodeClassReference");
  hash.Text("Kind", reference.kind);
  hash.Text("Name", reference.name);
  hash.Text("Group", reference.group);
  return hash.hash();
}

uint64_t TemplateHashOfMeta(const NodeClaimTemplate& t) {
  StructHash hash("ObjectMeta");
  hash.Field("Labels", !t.labels.empty(), TemplateHashOfLabels(t.labels));
  hash.Field("Annotations", !t.annotations.empty(), TemplateHashOfLabels(t.annotations));
  return hash.hash();
}

uint64_t TemplateHashOfSpec(const NodeClaimTemplateSpec& spec) {
  StructHash hash("NodeClaimTemplateSpec");
  hash.Field("Taints", !spec.taints.empty(), TemplateHashOfTaints(spec.taints));
  hash.Field("StartupTaints", !spec.startup_taints.empty(),
             TemplateHashOfTaints(spec.startup_taints));
  // Not the requirements: they drift in a way of their own.
  hash.Field("NodeClassRef", spec.node_class_ref.has_value(),
             TemplateHashOfClass(spec.node_class_ref.value_or(NodeClassReference{})));
  const auto grace = LastingOf(spec.termination_grace_period);
  StructHash grace_hash("Duration");
  const int64_t grace_nanos = grace.value_or(Duration{}).count();
  grace_hash.Field("Duration", grace_nanos != 0, TemplateHashOfNumber(grace_nanos));
  hash.Field("TerminationGracePeriod", grace.has_value(), grace_hash.hash());
  const auto expire = LastingOf(spec.expire_after);
  StructHash expire_hash("NillableDuration");
  expire_hash.Field("Duration", expire.has_value(),
                    TemplateHashOfNumber(expire.value_or(Duration{}).count()));
  hash.Field("ExpireAfter", expire.has_value(), expire_hash.hash());
  return hash.hash();
}

}  // namespace

std::string HashOf(const NodePool& pool) {
  const NodeClaimTemplate& t = pool.spec.template_;
  StructHash hash("NodeClaimTemplate");
  hash.Field("ObjectMeta", !t.labels.empty() || !t.annotations.empty(), TemplateHashOfMeta(t));
  hash.Field("Spec", t.spec != NodeClaimTemplateSpec{}, TemplateHashOfSpec(t.spec));
  return std::to_string(hash.hash());
}

}  // namespace coppice::model
