#include <gtest/gtest.h>

#include "plugins/batch/resourcequota/go_text.h"

namespace coppice::batch::resourcequota {
namespace {

// Upstream keeps a text beside an amount only if it can tell at a glance that it is canonical.
TEST(ResourceQuotaTest, ListsAreShownAsGoShowsTheirFields) {
  const auto shown = [](const char* text) {
    return GoText({{"cpu", model::Quantity::Parse(text).value()}});
  };
  EXPECT_EQ(shown("1500m"), "map[cpu:{{1500 -3} {<nil>} 1500m DecimalSI}]");
  EXPECT_EQ(shown("1000m"), "map[cpu:{{1000 -3} {<nil>}  DecimalSI}]");
  EXPECT_EQ(shown("0.5"), "map[cpu:{{5 -1} {<nil>}  DecimalSI}]");
  EXPECT_EQ(shown("0"), "map[cpu:{{0 0} {<nil>} 0 DecimalSI}]");
  EXPECT_EQ(shown("1k"), "map[cpu:{{1 3} {<nil>} 1k DecimalSI}]");
  EXPECT_EQ(shown("2Gi"), "map[cpu:{{2147483648 0} {<nil>} 2Gi BinarySI}]");
  EXPECT_EQ(shown("8Gi"), "map[cpu:{{8589934592 0} {<nil>}  BinarySI}]");
  EXPECT_EQ(shown("2048Mi"), "map[cpu:{{2147483648 0} {<nil>}  BinarySI}]");
  EXPECT_EQ(shown("5e9"), "map[cpu:{{5 9} {<nil>} 5e9 DecimalExponent}]");
}

}  // namespace
}  // namespace coppice::batch::resourcequota
