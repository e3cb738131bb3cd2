#include "whatif/doubles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coppice::whatif {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::shared_ptr<const model::Node> NodeOf(const std::string& name, const std::string& provider_id) {
  model::Node node;
  node.metadata.name = name;
  node.spec.provider_id = provider_id;
  return std::make_shared<const model::Node>(std::move(node));
}
std::shared_ptr<const model::Pod> PodOf(const std::string& space, const std::string& name) {
  model::Pod pod;
  pod.metadata.namespace_ = space;
  pod.metadata.name = name;
  return std::make_shared<const model::Pod>(std::move(pod));
}

TEST(DoublesTest, TheLastOfANameCountsAndANoteSaysSo) {
  ClusterObjects objects;
  objects.nodes = {NodeOf("a", "old"), NodeOf("b", "b"), NodeOf("a", "new")};
  objects.pods = {PodOf("x", "p"), PodOf("y", "p"), PodOf("x", "p"), PodOf("x", "p"),
                  PodOf("y", "p")};
  std::vector<std::string> notes;
  DropDoubles(objects, notes);
  ASSERT_THAT(objects.nodes, SizeIs(2));
  EXPECT_EQ(objects.nodes[0]->metadata.name, "b");
  EXPECT_EQ(objects.nodes[1]->spec.provider_id, "new");
  EXPECT_THAT(objects.pods, SizeIs(2));
  EXPECT_THAT(notes, ElementsAre("4 objects are there twice, and the last one counts: Node a, Pod "
                                 "x/p, Pod y/p and 1 more"));
}

TEST(DoublesTest, WithoutDoublesThereIsNothingToSay) {
  ClusterObjects objects;
  objects.pods = {PodOf("x", "p"), PodOf("y", "p")};
  std::vector<std::string> notes;
  DropDoubles(objects, notes);
  EXPECT_THAT(objects.pods, SizeIs(2));
  NoteReplaced(objects, {}, notes);
  EXPECT_THAT(notes, IsEmpty());
}

TEST(DoublesTest, WhatIsAddedOverAnObjectIsSaid) {
  ClusterObjects cluster;
  cluster.pods = {PodOf("x", "p")};
  ClusterObjects added;
  added.pods = {PodOf("x", "p"), PodOf("x", "q")};
  std::vector<std::string> notes;
  NoteReplaced(cluster, added, notes);
  EXPECT_THAT(notes, ElementsAre("what is added takes the place of 1 object of the dump: Pod x/p"));
}

}  // namespace
}  // namespace coppice::whatif
