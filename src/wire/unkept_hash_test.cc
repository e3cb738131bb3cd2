// Pods that upstream calls equivalent have equal hashes of what we do not keep, in each encoding;
// others not.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/support/must.h"
#include "wire/wire.h"

namespace coppice::wire {
namespace {

uint64_t HashOfSpec(const std::string& spec) {
  return MUST(FromJson<model::Pod>(R"({"spec":)" + spec + "}")).spec.unkept_hash;
}

const char* const kBase =
    R"({"containers":[{"name":"c","livenessProbe":{"a":1},"env":[{"name":"A"}],
        "volumeMounts":[{"name":"kube-api-access-aaaaa","mountPath":"/t"},{"name":"data","mountPath":"/d"}]}],
        "hostname":"h1","dnsPolicy":"x",
        "volumes":[{"name":"kube-api-access-aaaaa","projected":{"sources":[1]}},{"name":"data","emptyDir":{}}]})";

struct HashCase {
  const char* name;
  const char* spec;
  bool same;
};

class UnkeptHashTest : public testing::TestWithParam<HashCase> {};

TEST_P(UnkeptHashTest, Decides) {
  EXPECT_EQ(HashOfSpec(kBase) == HashOfSpec(GetParam().spec), GetParam().same);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, UnkeptHashTest,
    testing::ValuesIn(std::vector<HashCase>{
        {"TheSame", kBase, true},
        {"ProjectedVolumesAndTheirMountsEnvAndHostnameDoNotCount",
         R"({"containers":[{"name":"c","livenessProbe":{"a":1},"env":[{"name":"B"}],
             "volumeMounts":[{"name":"kube-api-access-bbbbb","mountPath":"/t"},{"name":"data","mountPath":"/d"}]}],
             "hostname":"h2","dnsPolicy":"x",
             "volumes":[{"name":"kube-api-access-bbbbb","projected":{"sources":[2]}},{"name":"data","emptyDir":{}}]})",
         true},
        {"TheOrderOfKeysDoesNotCount",
         R"({"volumes":[{"name":"kube-api-access-aaaaa","projected":{"sources":[1]}},{"name":"data","emptyDir":{}}],
             "dnsPolicy":"x","containers":[{"livenessProbe":{"a":1},"name":"c",
             "volumeMounts":[{"name":"kube-api-access-aaaaa","mountPath":"/t"},{"name":"data","mountPath":"/d"}]}]})",
         true},
        {"AProbeCounts",
         R"({"containers":[{"name":"c","livenessProbe":{"a":2},
             "volumeMounts":[{"name":"kube-api-access-aaaaa","mountPath":"/t"},{"name":"data","mountPath":"/d"}]}],
             "dnsPolicy":"x",
             "volumes":[{"name":"kube-api-access-aaaaa","projected":{"sources":[1]}},{"name":"data","emptyDir":{}}]})",
         false},
        {"AMountOfAnotherVolumeCounts",
         R"({"containers":[{"name":"c","livenessProbe":{"a":1},
             "volumeMounts":[{"name":"kube-api-access-aaaaa","mountPath":"/t"},{"name":"data","mountPath":"/e"}]}],
             "dnsPolicy":"x",
             "volumes":[{"name":"kube-api-access-aaaaa","projected":{"sources":[1]}},{"name":"data","emptyDir":{}}]})",
         false},
        {"WhichContainerHasItCounts",
         R"({"containers":[{"name":"c",
             "volumeMounts":[{"name":"kube-api-access-aaaaa","mountPath":"/t"},{"name":"data","mountPath":"/d"}]},
             {"livenessProbe":{"a":1}}],
             "dnsPolicy":"x",
             "volumes":[{"name":"kube-api-access-aaaaa","projected":{"sources":[1]}},{"name":"data","emptyDir":{}}]})",
         false},
        {"AVolumeSourceThatWeDoNotKeepCounts",
         R"({"containers":[{"name":"c","livenessProbe":{"a":1},
             "volumeMounts":[{"name":"kube-api-access-aaaaa","mountPath":"/t"},{"name":"data","mountPath":"/d"}]}],
             "dnsPolicy":"x",
             "volumes":[{"name":"kube-api-access-aaaaa","projected":{"sources":[1]}},{"name":"data","secret":{}}]})",
         false},
    }),
    [](const auto& row) { return row.param.name; });

TEST(UnkeptHashTest, NothingUnkeptIsTheSameInBothEncodings) {
  const auto pod = MUST(FromJson<model::Pod>(R"({"spec":{"containers":[{"name":"c"}]}})"));
  EXPECT_EQ(MUST(FromProto<model::Pod>(ToProto(pod))).spec.unkept_hash, pod.spec.unkept_hash);
}

}  // namespace
}  // namespace coppice::wire
