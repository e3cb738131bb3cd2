#include "cluster/id_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "cluster/stable_vector.h"

namespace coppice::cluster {
namespace {

// Hashes are few and differ in their upper half only every other time: most searches meet others.
uint64_t HashOf(uint32_t value) {
  const uint32_t low = value / 2 % 97 * 0x9E3779B9u;
  return (uint64_t{value % 2} << 40) | low;
}

TEST(IdTable, AsAMapFromValueToIdWhateverCollides) {
  std::mt19937 rng(7);
  IdTable table;
  std::map<uint32_t, uint32_t> ids;  // the model: value to id
  std::vector<uint32_t> values;      // by id, as an owner of the table keeps them
  const auto find = [&](uint32_t value) {
    return table.Find(HashOf(value), [&](uint32_t id) { return values[id] == value; });
  };
  for (int step = 0; step < 20'000; ++step) {
    const uint32_t value = rng() % 400;
    const auto known = ids.find(value);
    ASSERT_EQ(find(value), known == ids.end() ? IdTable::kAbsent : known->second)
        << "value " << value << " at step " << step;
    const auto next = static_cast<uint32_t>(values.size());
    if (known == ids.end()) {
      if (rng() % 16 == 0) table.Reserve(ids.size() + rng() % 50);
      table.Insert(HashOf(value), next);
      ids[value] = next;
      values.push_back(value);
    } else if (rng() % 4 == 0) {
      table.Replace(HashOf(value), known->second, next);
      known->second = next;
      values.push_back(value);
    } else {
      table.Erase(HashOf(value), known->second);
      ids.erase(known);
    }
    ASSERT_EQ(table.size(), ids.size());
  }
}

TEST(IdTable, WhatIsNotThereIsNotErased) {
  IdTable table;
  table.Erase(1, 1);
  table.Insert(1, 1);
  table.Erase(1, 2);
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.Find(1, [](uint32_t) { return true; }), 1u);
  EXPECT_EQ(table.Find(1, [](uint32_t) { return false; }), IdTable::kAbsent);
}

TEST(StableVector, NothingMovesWhenItGrows) {
  StableVector<int> numbers;
  std::vector<int*> places;
  for (int i = 0; i < 2'000; ++i) {
    int& number = numbers.Grow();
    EXPECT_EQ(number, 0);
    number = i;
    places.push_back(&number);
  }
  ASSERT_EQ(numbers.size(), places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    ASSERT_EQ(places[i], &numbers[i]);
    ASSERT_EQ(numbers[i], static_cast<int>(i));
  }
}

}  // namespace
}  // namespace coppice::cluster
