// Pods with wishes, for the tests that let the real scheduler judge what was bought. The rest of a
// Deployment's pod follows its containers.

#pragma once

namespace coppice::test {

inline constexpr char kAgent[] = R"(---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: default}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: c, image: none, resources: {requests: {cpu: 300m, memory: 100Mi}}}]
)";
inline constexpr char kOverZones[] = R"(      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: zones}}}
)";
inline constexpr char kApart[] = R"(      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: apart}}}
)";
inline constexpr char kForBatch[] = R"(      nodeSelector: {work: batch}
      tolerations: [{key: dedicated, operator: Equal, value: batch, effect: NoSchedule}]
)";

}  // namespace coppice::test
