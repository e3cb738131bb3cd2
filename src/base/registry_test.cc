#include "base/registry.h"

#include <gmock/gmock.h>

#include <functional>
#include <memory>

#include "test/support/must.h"

namespace coppice {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

struct Engine {
  virtual ~Engine() = default;
  virtual int power() const = 0;
};
struct Motor final : Engine {
  explicit Motor(int watts) : watts_(watts) {}
  int power() const override { return watts_; }
  int watts_;
};
using EngineRegistry = Registry<std::function<Result<std::unique_ptr<Engine>>(int)>>;

TEST(RegistryTest, MakesWhatWasRegistered) {
  EngineRegistry registry("engine");
  registry.Add("motor", [](int watts) { return std::make_unique<Motor>(watts); });
  EXPECT_TRUE(registry.Has("motor"));
  EXPECT_EQ(MUST(registry.Make("motor", 40))->power(), 40);
}

TEST(RegistryTest, PassesTheFactorysFailureOn) {
  EngineRegistry registry("engine");
  registry.Add("steam", [](int) { return Unavailable("no water"); });
  EXPECT_EQ(registry.Make("steam", 1).status(), Unavailable("no water"));
}

TEST(RegistryTest, NamesBothOriginsOfADuplicate) {
  EngineRegistry registry("engine");
  const auto motor = [](int watts) { return std::make_unique<Motor>(watts); };
  registry.Add("motor", motor);  // line A
  const int line_a = __LINE__ - 1;
  registry.Add("motor", motor);  // line B
  const int line_b = __LINE__ - 1;

  const Status status = registry.Check();

  EXPECT_EQ(status.code(), Code::kAlreadyExists);
  EXPECT_THAT(status.message(),
              AllOf(StartsWith("engine 'motor' is registered twice: in "),
                    HasSubstr("registry_test.cc:" + std::to_string(line_a) + " and in "),
                    HasSubstr("registry_test.cc:" + std::to_string(line_b))));
  EXPECT_EQ(registry.Make("motor", 1).status(), status) << "a broken registry makes nothing";
}

TEST(RegistryTest, NotFoundListsWhatThereIs) {
  EngineRegistry registry("engine");
  const auto motor = [](int watts) { return std::make_unique<Motor>(watts); };
  registry.Add("steam", motor);
  registry.Add("motor", motor);
  EXPECT_THAT(registry.names(), ElementsAre("motor", "steam"));
  EXPECT_EQ(registry.Make("horse", 1).status(),
            NotFound("no engine 'horse' is registered; there are: motor, steam"));
  EXPECT_THAT(registry.Make("moter", 1).status().message(), EndsWith("; did you mean 'motor'?"));
}

TEST(RegistryTest, NotFoundSaysWhenItIsEmpty) {
  EXPECT_EQ(EngineRegistry("engine").Make("motor", 1).status().message(),
            "no engine 'motor' is registered; there are none");
}

}  // namespace
}  // namespace coppice
