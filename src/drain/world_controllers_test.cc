#include "drain/world_controllers.h"

#include <gtest/gtest.h>

namespace coppice::drain {
namespace {

template <class T>
std::shared_ptr<const T> Named(const std::string& name, std::optional<int32_t> replicas = {}) {
  T object;
  object.metadata.name = name;
  object.metadata.namespace_ = "shop";
  if constexpr (requires { object.spec.replicas; }) object.spec.replicas = replicas;
  return std::make_shared<const T>(std::move(object));
}

class WorldControllersTest : public testing::Test {
 protected:
  cluster::World world;
  WorldControllers controllers{world};
};

TEST_F(WorldControllersTest, ReplicasAreThoseOfTheObjectAndOneIfItDoesNotSay) {
  world.Upsert(Named<model::ReplicaSet>("three", 3));
  world.Upsert(Named<model::ReplicaSet>("silent"));
  world.Upsert(Named<model::ReplicationController>("two", 2));
  EXPECT_EQ(controllers.Find("ReplicaSet", "shop", "three")->replicas, 3);
  EXPECT_EQ(controllers.Find("ReplicaSet", "shop", "silent")->replicas, 1);
  EXPECT_EQ(controllers.Find("ReplicationController", "shop", "two")->replicas, 2);
}

TEST_F(WorldControllersTest, KindsWithoutACountThatMattersAreFoundWithoutOne) {
  world.Upsert(Named<model::StatefulSet>("s", 5));
  world.Upsert(Named<model::DaemonSet>("d"));
  world.Upsert(Named<model::Job>("j"));
  for (const auto& [kind, name] :
       {std::pair{"StatefulSet", "s"}, {"DaemonSet", "d"}, {"Job", "j"}}) {
    const auto found = controllers.Find(kind, "shop", name);
    ASSERT_TRUE(found.has_value()) << kind;
    EXPECT_FALSE(found->replicas.has_value()) << kind;
  }
}

TEST_F(WorldControllersTest, AnotherKindNamespaceOrNameIsNotFound) {
  world.Upsert(Named<model::ReplicaSet>("three", 3));
  EXPECT_FALSE(controllers.Find("StatefulSet", "shop", "three"));
  EXPECT_FALSE(controllers.Find("ReplicaSet", "other", "three"));
  EXPECT_FALSE(controllers.Find("ReplicaSet", "shop", "four"));
  EXPECT_FALSE(controllers.Find("Odd", "shop", "three"));
}

}  // namespace
}  // namespace coppice::drain
