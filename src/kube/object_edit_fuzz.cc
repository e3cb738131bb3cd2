// Any bytes as an object that a server sent, or as one that an engine hands in: edited, or refused.
// A change of finalizers that is applied finds nothing left to do.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "kube/object_edit.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using Json = nlohmann::ordered_json;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)coppice::kube::WithName(text, {"v1", "things", "ns", "name"});
  (void)coppice::kube::WithName(text, {"v1", "things", "", ""});
  (void)coppice::kube::WithUid(text, "uid");
  const coppice::cluster::FinalizerChange change{.add = {"a", "b"}, .remove = {"c"}};
  const auto patch = coppice::kube::EditFinalizers(text, change, "");
  if (!patch.ok() || !patch->has_value()) return 0;
  Json object = Json::parse(text, nullptr, false);
  object.merge_patch(Json::parse(**patch));
  const std::string edited = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto again = coppice::kube::EditFinalizers(edited, change, "");
  if (!again.ok() || again->has_value()) std::abort();
  return 0;
}
