// Permutations recorded from Go 1.26.8 (sort.Slice and slices.SortFunc agreed on all of them), as
// hashes: the inputs are made here again by the same rules.

#include "base/go_sort.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace coppice {
namespace {

using testing::ElementsAre;

struct Item {
  uint64_t key;
  uint64_t at;  // in the input
};

uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

constexpr const char* kShapes[] = {"random", "ascending",     "descending", "sawtooth",
                                   "pipe",   "nearly sorted", "rotated"};

uint64_t KeyOf(int shape, uint64_t i, uint64_t n, uint64_t keys) {
  switch (shape) {
    case 0:
      return Mix(n * 1000003 + i) % keys;
    case 1:
      return i * keys / n;
    case 2:
      return (n - 1 - i) * keys / n;
    case 3:
      return i % keys;
    case 4:
      return std::min(i, n - 1 - i) * keys / n;
    case 5:
      return i % 17 == 16 ? Mix(i) % keys : i * keys / n;
    default:
      return (i + n / 3) % n * keys / n;
  }
}

std::vector<Item> Sorted(int shape, uint64_t n, uint64_t keys) {
  std::vector<Item> items;
  for (uint64_t i = 0; i < n; ++i) items.push_back({KeyOf(shape, i, n, keys), i});
  GoSort(items, [](const Item& a, const Item& b) { return a.key < b.key; });
  return items;
}

constexpr uint64_t kHashOfNothing = 0xCBF29CE484222325u;
void Add(uint64_t& hash, uint64_t value) { hash = (hash ^ value) * 0x100000001B3u; }

// Of all lists whose length is in the range, one after the other.
struct Lengths {
  uint64_t from;
  uint64_t to;
};
constexpr Lengths kLengths[] = {{0, 12}, {13, 49}, {50, 250}, {990, 1010}, {20000, 20001}};

struct Recorded {
  int shape;
  uint64_t keys;
  uint64_t hashes[std::size(kLengths)];
};
// clang-format off
constexpr Recorded kRecorded[] = {
    {0, 1, {0x501E7E4DDBAD3C77u, 0xC6A7A3BC4624CA8Du, 0x93A68E2EE71AE866u, 0xC6FF4C2301ED6A44u, 0x33FC5DF4519FE13Fu}},
    {0, 2, {0x7B81542832E85987u, 0xD8AFF435EE547551u, 0x46316F81011BD482u, 0xECD76F83FC4D2026u, 0xBF7D93B54AE2E86Bu}},
    {0, 3, {0x80F01DE654B9FC77u, 0xB7A41756D4CEE9E9u, 0x785A62C1F76B54B0u, 0x89C424792072B128u, 0xADD722B1B21A8F19u}},
    {0, 7, {0x21E67E197D4641F9u, 0xA214AE79FFB41303u, 0xF40FE3420D932FE8u, 0x56780505CA2E68FAu, 0xB2A21A47C47C1F1Du}},
    {0, 1000000, {0xB27F59A8B4555F4Bu, 0x86B72FD59E1CD17Fu, 0x7325E531834F6ECAu, 0xB01BF54300DA33F2u, 0x1EC0491DC8303945u}},
    {1, 1, {0x501E7E4DDBAD3C77u, 0xC6A7A3BC4624CA8Du, 0x93A68E2EE71AE866u, 0xC6FF4C2301ED6A44u, 0x33FC5DF4519FE13Fu}},
    {1, 2, {0x501E7E4DDBAD3C77u, 0xC6A7A3BC4624CA8Du, 0x93A68E2EE71AE866u, 0xC6FF4C2301ED6A44u, 0x33FC5DF4519FE13Fu}},
    {1, 3, {0x501E7E4DDBAD3C77u, 0xC6A7A3BC4624CA8Du, 0x93A68E2EE71AE866u, 0xC6FF4C2301ED6A44u, 0x33FC5DF4519FE13Fu}},
    {1, 7, {0x501E7E4DDBAD3C77u, 0xC6A7A3BC4624CA8Du, 0x93A68E2EE71AE866u, 0xC6FF4C2301ED6A44u, 0x33FC5DF4519FE13Fu}},
    {1, 1000000, {0x501E7E4DDBAD3C77u, 0xC6A7A3BC4624CA8Du, 0x93A68E2EE71AE866u, 0xC6FF4C2301ED6A44u, 0x33FC5DF4519FE13Fu}},
    {2, 1, {0x501E7E4DDBAD3C77u, 0xC6A7A3BC4624CA8Du, 0x93A68E2EE71AE866u, 0xC6FF4C2301ED6A44u, 0x33FC5DF4519FE13Fu}},
    {2, 2, {0xE25DED8733319B5Bu, 0x47518A301F1EEC1Du, 0xE61AD7F691D5B44Cu, 0xD20652035AC52798u, 0x27FC003FF936C725u}},
    {2, 3, {0x6F429B62DD46268Bu, 0x8E58A3CB572CA3EDu, 0xC26B901EAA75A1CEu, 0xA1E74EBE93776DF0u, 0xC60B7DABE8A0988Fu}},
    {2, 7, {0x752EE64CB76E65AFu, 0x687CA32D3A98BA37u, 0xD2329B8EE527D83Eu, 0xB69CC8D3A3C53C3Eu, 0x542825590A7DFE59u}},
    {2, 1000000, {0xEB6ECC55DD560F55u, 0x9E1A2E0EBF29BAE7u, 0xA889BC676203C258u, 0x6BFD52CB2485BA48u, 0x11C7494917950E9Fu}},
    {3, 1, {0x501E7E4DDBAD3C77u, 0xC6A7A3BC4624CA8Du, 0x93A68E2EE71AE866u, 0xC6FF4C2301ED6A44u, 0x33FC5DF4519FE13Fu}},
    {3, 2, {0xE70CD62C9E8CBEBFu, 0x75C1B17C49DB2C69u, 0x0E86DB099F9E3916u, 0x82ADE1AF83F1231Au, 0xCE8A8D04131898B3u}},
    {3, 3, {0xB65F179582671CF1u, 0x584C4B0372B2DE83u, 0x7D9D53A1F173C1A6u, 0x99B9E21A14FF7252u, 0x7619520DA6AB26EBu}},
    {3, 7, {0x76FAC6B0C4731BEFu, 0xA114F6A9030AA2ADu, 0x004C0403451C7238u, 0x2E756300DA5A9A5Eu, 0x260A88671C400813u}},
    {3, 1000000, {0x501E7E4DDBAD3C77u, 0xC6A7A3BC4624CA8Du, 0x93A68E2EE71AE866u, 0xC6FF4C2301ED6A44u, 0x33FC5DF4519FE13Fu}},
    {4, 1, {0x501E7E4DDBAD3C77u, 0xC6A7A3BC4624CA8Du, 0x93A68E2EE71AE866u, 0xC6FF4C2301ED6A44u, 0x33FC5DF4519FE13Fu}},
    {4, 2, {0x501E7E4DDBAD3C77u, 0xC6A7A3BC4624CA8Du, 0x93A68E2EE71AE866u, 0xC6FF4C2301ED6A44u, 0x33FC5DF4519FE13Fu}},
    {4, 3, {0xA5FFA931162F497Bu, 0xE312C93EF3C86FADu, 0x00B1C6F297529FA8u, 0xEAD87C17787E51B0u, 0xC9E7034518A7F951u}},
    {4, 7, {0x5A2A18A4CFEF7AD3u, 0x95B346F8BF26295Fu, 0x5D167695461FC090u, 0x1297DE7D107C57ACu, 0xD6506FF2376F2351u}},
    {4, 1000000, {0xD03025678A36CB33u, 0xCA2DF710BFE79A89u, 0x1EEF8EBB6D594D1Cu, 0xE4F3DE98B137A9FCu, 0xD7E20FE841889EBBu}},
    {5, 1, {0x501E7E4DDBAD3C77u, 0xC6A7A3BC4624CA8Du, 0x93A68E2EE71AE866u, 0xC6FF4C2301ED6A44u, 0x33FC5DF4519FE13Fu}},
    {5, 2, {0x501E7E4DDBAD3C77u, 0xAB6AFAB5ABF7D71Bu, 0xE679EEDD83817C5Eu, 0x0BD1146AEB099002u, 0x7085CDF2E20118D9u}},
    {5, 3, {0x501E7E4DDBAD3C77u, 0x4A78C3603AA14A87u, 0x4975E7F9B6DF1528u, 0x4FDC2E3DCEA35E92u, 0x1964E5077A67C559u}},
    {5, 7, {0x501E7E4DDBAD3C77u, 0x9FD178083DF7C54Bu, 0xA22EFC066490032Au, 0x8AB9D0BD88182D2Au, 0x586568ED46BAC1F5u}},
    {5, 1000000, {0x501E7E4DDBAD3C77u, 0x4E047BD31125FAF5u, 0x238669D3839C7AD8u, 0x33E5D3AABA6A1BBCu, 0xAB396EDB36CCBC31u}},
    {6, 1, {0x501E7E4DDBAD3C77u, 0xC6A7A3BC4624CA8Du, 0x93A68E2EE71AE866u, 0xC6FF4C2301ED6A44u, 0x33FC5DF4519FE13Fu}},
    {6, 2, {0x86823144CB8C5F6Du, 0x95B05B2270573957u, 0xFF408AB61CE1E2D0u, 0xAC3557CF618C2864u, 0xB97E2FCBC1323FCBu}},
    {6, 3, {0xB9F069E648618E9Bu, 0x047263BDDCFB9EE7u, 0xCE088F091A05B330u, 0x55F2BFE2946F54F8u, 0x99CD8AAB73CED09Fu}},
    {6, 7, {0x27AC7B30C65CA55Fu, 0xC8F587AA8F8C5199u, 0x276125C0920BD56Cu, 0xD58C898485A8D3A2u, 0x0773A2CB5FC88D29u}},
    {6, 1000000, {0xFF360C9CA9CFE637u, 0xA67073BDA0189BBDu, 0x9CC3B9D4F4122586u, 0x2316AF0AB0FB0192u, 0xE1F856983D52A049u}},
};
// clang-format on

TEST(GoSortTest, LeavesEqualElementsInGosOrder) {
  for (const Recorded& row : kRecorded) {
    for (size_t i = 0; i < std::size(kLengths); ++i) {
      uint64_t hash = kHashOfNothing;
      for (uint64_t n = kLengths[i].from; n <= kLengths[i].to; ++n) {
        for (const Item& item : Sorted(row.shape, n, row.keys)) Add(hash, item.at);
      }
      EXPECT_EQ(hash, row.hashes[i]) << kShapes[row.shape] << ", " << row.keys << " keys, "
                                     << kLengths[i].from << " to " << kLengths[i].to << " elements";
    }
  }
}

TEST(GoSortTest, ThirteenElementsAreNotSortedStably) {
  std::vector<uint64_t> order;
  for (const Item& item : Sorted(0, 13, 3)) order.push_back(item.at);
  EXPECT_THAT(order, ElementsAre(12, 5, 8, 2, 0, 9, 3, 7, 6, 4, 10, 11, 1));
}

// An order that is made up while it is asked for, so that every pivot is as bad as it can be
// (McIlroy, "A killer adversary for quicksort"): the heap sort at the end is reached, and every
// single comparison must be Go's.
TEST(GoSortTest, AnAdversaryIsAskedTheSameQuestions) {
  struct Case {
    int n;
    int comparisons;
    uint64_t hash;
  };
  for (const Case& c : {
           Case{13, 32, 0x8408B4D0DAA6E87Bu},
           Case{64, 550, 0x367EF2B36F7B63B1u},
           Case{100, 941, 0xA10A2A6D33B3F2C3u},
           Case{1000, 7202, 0x43DACBE071A65F3Fu},
           Case{5000, 35280, 0x8B9962BA0DEBB8FBu},
       }) {
    std::vector<int> values(static_cast<size_t>(c.n), c.n);
    std::vector<int> ids;
    for (int i = 0; i < c.n; ++i) ids.push_back(i);
    int fixed = 0;
    int candidate = 0;
    int comparisons = 0;
    GoSort(ids, [&](int x, int y) {
      ++comparisons;
      int& a = values[static_cast<size_t>(x)];
      int& b = values[static_cast<size_t>(y)];
      if (a == c.n && b == c.n) (x == candidate ? a : b) = fixed++;
      if (a == c.n) {
        candidate = x;
      } else if (b == c.n) {
        candidate = y;
      }
      return a < b;
    });
    uint64_t hash = kHashOfNothing;
    for (const int id : ids) Add(hash, static_cast<uint64_t>(id));
    EXPECT_EQ(comparisons, c.comparisons) << c.n;
    EXPECT_EQ(hash, c.hash) << c.n;
    EXPECT_TRUE(
        std::ranges::is_sorted(ids, {}, [&](int id) { return values[static_cast<size_t>(id)]; }));
  }
}

TEST(GoSortTest, SortsPartOfAVectorAndWhatCanOnlyBeMoved) {
  std::vector<std::unique_ptr<int>> items;
  for (int i = 0; i < 40; ++i) items.push_back(std::make_unique<int>(i * 7 % 40));
  GoSort(std::span(items).subspan(1), [](const auto& a, const auto& b) { return *a < *b; });
  EXPECT_EQ(*items[0], 0);
  for (int i = 1; i < 40; ++i) EXPECT_EQ(*items[static_cast<size_t>(i)], i);
}

}  // namespace
}  // namespace coppice
