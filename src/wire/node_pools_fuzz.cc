// Any text as a NodePool, NodeClaim or NodeClass: refused, or read, written and read again the
// same; and what is asked of it afterwards (durations, the hash) has an answer.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "model/node_claim.h"
#include "model/node_class.h"
#include "model/node_pool.h"
#include "wire/utf8.h"
#include "wire/wire.h"

namespace coppice::wire {
namespace {

template <class T>
void TryCustom(std::string_view text, void (*ask)(T&)) {
  auto value = FromJson<T>(text);
  if (!value.ok()) return;
  const auto again = FromJson<T>(ToJson(*value));
  CHECK(again.ok());
  CHECK(!IsUtf8(text) || *again == *value);
  ask(*value);
}

void AskPool(model::NodePool& pool) {
  const std::string hash = model::HashOf(pool);
  CHECK(!hash.empty());
  model::FillDefaults(pool);
  CHECK(pool.spec.disruption.budgets.has_value());
}

void AskClaim(model::NodeClaim& claim) {
  (void)model::LastingOf(claim.spec.expire_after);
  (void)model::IsTrue(claim.status.conditions, model::karpenter::kLaunched);
}

void AskClass(model::NodeClass&) {}

}  // namespace
}  // namespace coppice::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice;  // NOLINT
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      wire::TryCustom<model::NodePool>(text, wire::AskPool);
      break;
    case 1:
      wire::TryCustom<model::NodeClaim>(text, wire::AskClaim);
      break;
    case 2:
      wire::TryCustom<model::NodeClass>(text, wire::AskClass);
      break;
    default:
      (void)wire::ForEachItem<model::NodeClaim>(text, [](model::NodeClaim& claim) {
        CHECK(wire::FromJson<model::NodeClaim>(wire::ToJson(claim)).ok());
        return Status::Ok();
      });
  }
  return 0;
}
