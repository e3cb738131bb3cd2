// A list of pods as an API server would send it, of the size that pods of a real cluster have
// (about 2.9 KB in protobuf, 5.3 KB in JSON, with probes, environment and managed fields), for
// measurements. Both encodings hold the same pods. `shapes` is how many different specs there are;
// names, labels of one kind and nodes are per pod.

#pragma once

#include <string>

namespace coppice::test {

std::string PodListEnvelope(int pods, int shapes);
std::string PodListJson(int pods, int shapes);

}  // namespace coppice::test
