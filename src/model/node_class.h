// coppice.dev/v1alpha1 NodeClass: how machines of a pool are made on a cloud of the four verbs.
// Conventions: meta.h.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/kinds.h"
#include "model/meta.h"
#include "model/pod.h"

namespace coppice::model {

struct SecretKeyReference {
  std::string namespace_;
  std::string name;
  std::string key;
  friend bool operator==(const SecretKeyReference&, const SecretKeyReference&) = default;
};

// What the kubelet keeps back from pods.
struct KubeletReserves {
  ResourceList kube_reserved;
  ResourceList system_reserved;
  Labels eviction_hard;  // "memory.available": "100Mi" or "5%"
  std::optional<int32_t> max_pods;
  friend bool operator==(const KubeletReserves&, const KubeletReserves&) = default;
};

struct NodeClassSpec {
  std::string image;
  std::vector<std::string> zones;     // none: wherever the cloud sells
  std::vector<std::string> networks;  // as the cloud names them
  std::optional<SecretKeyReference> user_data_secret;
  Labels tags;  // on every machine, beside our own
  std::optional<KubeletReserves> kubelet;
  bool register_node = false;  // nobody else sets spec.providerID, so we create the Node
  Labels extra;                // what only this cloud understands
  // With registerNode, a Go duration: how long a machine takes until its Node may be seen.
  std::optional<std::string> node_registration_delay;
  friend bool operator==(const NodeClassSpec&, const NodeClassSpec&) = default;
};

struct NodeClassStatus {
  std::vector<Condition> conditions;  // Ready
  friend bool operator==(const NodeClassStatus&, const NodeClassStatus&) = default;
};

struct NodeClass {
  ObjectMeta metadata;
  NodeClassSpec spec;
  NodeClassStatus status;
  friend bool operator==(const NodeClass&, const NodeClass&) = default;
};

template <>
inline constexpr Kind kKind<NodeClass> = {"coppice.dev/v1alpha1", "NodeClass", "nodeclasses",
                                          false};

// karpenter.kwok.sh/v1alpha1 KWOKNodeClass: that of Karpenter's provider without machines. Its spec
// has nodeRegistrationDelay alone; one type with ours, so that whoever handles classes need not ask
// which it is.
struct KwokNodeClass : NodeClass {};

template <>
inline constexpr Kind kKind<KwokNodeClass> = {"karpenter.kwok.sh/v1alpha1", "KWOKNodeClass",
                                              "kwoknodeclasses", false};

}  // namespace coppice::model
