// GoSort: the order in which Go's standard library sorts (sort.Sort, sort.Slice, slices.SortFunc:
// they are one algorithm), down to the order of equal elements.
//
// Go's sort is not stable, but it is deterministic: who gets the last of five nodes among thirteen
// groups of equal size is decided by it. So where a peer sorts a list with ties and its answer is
// to be ours, we sort as it does: a quicksort that looks for patterns. Its steps, each of which
// shows in the order of ties:
//   up to 12 elements   insertion sort (stable, so short lists have no surprises);
//   pivot               the median of three, from 50 elements on the median of three medians; how
//                       many exchanges that took says whether the range looks sorted or reversed;
//   looks sorted        an insertion sort that gives up after five misplaced elements;
//   looks reversed      the range is reversed first;
//   equal elements      a pivot no larger than what stands left of the range: its equals are split
//                       off, and only the rest goes on;
//   a lopsided split    three elements are exchanged with ones drawn from an xorshift generator
//                       seeded with the length; after as many of these as the length has bits, heap
//                       sort.
// The tests hold it to permutations recorded from Go 1.26; the algorithm is that of 1.19 and later.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace coppice {

namespace go_sort_internal {

template <class T, class Less>
class Sorter {
 public:
  Sorter(std::span<T> items, Less& less) : items_(items), less_(less) {}

  void Run() {
    const auto size = static_cast<Index>(items_.size());
    Sort(0, size, static_cast<int>(std::bit_width(items_.size())));
  }

 private:
  using Index = std::ptrdiff_t;
  enum class Looks { kSorted, kReversed, kAnyhow };
  struct Pivot {
    Index at;
    Looks looks;
  };
  struct Split {
    Index pivot;
    bool was_split;  // nothing had to be exchanged
  };

  static constexpr Index kInsertUpTo = 12;
  static constexpr Index kLong = 50;  // medians of medians, and shifting, from here on
  static constexpr int kMisplaced = 5;
  static constexpr int kMostExchanges = 4 * 3;

  bool Before(Index a, Index b) const {
    return less_(items_[static_cast<size_t>(a)], items_[static_cast<size_t>(b)]);
  }
  void Swap(Index a, Index b) {
    using std::swap;
    if (a != b) swap(items_[static_cast<size_t>(a)], items_[static_cast<size_t>(b)]);
  }

  // [begin, end), with so many lopsided splits still allowed. What is left of `begin` is not larger
  // than anything in the range.
  void Sort(Index begin, Index end, int lopsided_left) {
    bool balanced = true;
    bool was_split = true;
    for (;;) {
      const Index length = end - begin;
      if (length <= kInsertUpTo) return Insert(begin, end);
      if (lopsided_left == 0) return HeapSort(begin, end);
      if (!balanced) {
        Scatter(begin, end);
        --lopsided_left;
      }
      Pivot pivot = Choose(begin, end);
      if (pivot.looks == Looks::kReversed) {
        for (Index low = begin, high = end - 1; low < high; ++low, --high) Swap(low, high);
        pivot = {end - 1 - (pivot.at - begin), Looks::kSorted};
      }
      if (balanced && was_split && pivot.looks == Looks::kSorted && Mend(begin, end)) return;
      if (begin > 0 && !Before(begin - 1, pivot.at)) {
        begin = SkipEquals(begin, end, pivot.at);
        continue;
      }
      const Split split = SplitAt(begin, end, pivot.at);
      was_split = split.was_split;
      const Index left = split.pivot - begin;
      const Index right = end - split.pivot;
      // The shorter side by recursion, the longer one by the loop.
      if (left < right) {
        balanced = left >= length / 8;
        Sort(begin, split.pivot, lopsided_left);
        begin = split.pivot + 1;
      } else {
        balanced = right >= length / 8;
        Sort(split.pivot + 1, end, lopsided_left);
        end = split.pivot;
      }
    }
  }

  void Insert(Index begin, Index end) {
    for (Index next = begin + 1; next < end; ++next) {
      for (Index at = next; at > begin && Before(at, at - 1); --at) Swap(at, at - 1);
    }
  }

  void HeapSort(Index begin, Index end) {
    const Index size = end - begin;
    for (Index root = (size - 1) / 2; root >= 0; --root) Sink(begin, root, size);
    for (Index last = size - 1; last >= 0; --last) {
      Swap(begin, begin + last);
      Sink(begin, 0, last);
    }
  }
  void Sink(Index begin, Index root, Index size) {
    for (Index child = 2 * root + 1; child < size; child = 2 * root + 1) {
      if (child + 1 < size && Before(begin + child, begin + child + 1)) ++child;
      if (!Before(begin + root, begin + child)) return;
      Swap(begin + root, begin + child);
      root = child;
    }
  }

  void Scatter(Index begin, Index end) {
    const auto length = static_cast<uint64_t>(end - begin);
    uint64_t random = length;
    const uint64_t mask = (uint64_t{1} << std::bit_width(length)) - 1;
    const Index middle = begin + static_cast<Index>(length / 4 * 2);
    for (Index at = middle - 1; at <= middle + 1; ++at) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      uint64_t other = random & mask;
      if (other >= length) other -= length;
      Swap(at, begin + static_cast<Index>(other));
    }
  }

  Pivot Choose(Index begin, Index end) const {
    const Index length = end - begin;  // more than kInsertUpTo
    const Index quarter = length / 4;
    Index a = begin + quarter;
    Index b = begin + quarter * 2;
    Index c = begin + quarter * 3;
    int exchanges = 0;
    if (length >= kLong) {
      for (Index* of : {&a, &b, &c}) *of = Median(*of - 1, *of, *of + 1, exchanges);
    }
    b = Median(a, b, c, exchanges);
    if (exchanges == 0) return {b, Looks::kSorted};
    return {b, exchanges == kMostExchanges ? Looks::kReversed : Looks::kAnyhow};
  }
  Index Median(Index a, Index b, Index c, int& exchanges) const {
    const auto order = [&](Index& low, Index& high) {
      if (!Before(high, low)) return;
      std::swap(low, high);
      ++exchanges;
    };
    order(a, b);
    order(b, c);
    order(a, b);
    return b;
  }

  // Puts a few misplaced elements where they belong. False: there were more, or the range is too
  // short to be worth it.
  bool Mend(Index begin, Index end) {
    Index at = begin + 1;
    for (int misplaced = 0; misplaced < kMisplaced; ++misplaced) {
      while (at < end && !Before(at, at - 1)) ++at;
      if (at == end) return true;
      if (end - begin < kLong) return false;
      Swap(at, at - 1);
      if (at - begin >= 2) {
        // Not down to `begin`, as Go has it: what stands left of it stops the element anyway.
        for (Index low = at - 1; low >= 1 && Before(low, low - 1); --low) Swap(low, low - 1);
      }
      if (end - at >= 2) {
        for (Index high = at + 1; high < end && Before(high, high - 1); ++high)
          Swap(high, high - 1);
      }
    }
    return false;
  }

  // Nothing in the range is smaller than the pivot. Its equals go to the front; where the rest
  // begins.
  Index SkipEquals(Index begin, Index end, Index pivot) {
    Swap(begin, pivot);
    Index low = begin + 1;
    Index high = end - 1;
    for (;; Swap(low++, high--)) {
      while (low <= high && !Before(begin, low)) ++low;
      while (low <= high && Before(begin, high)) --high;
      if (low > high) return low;
    }
  }

  // What is smaller goes before the pivot, the rest behind it.
  Split SplitAt(Index begin, Index end, Index pivot) {
    Swap(begin, pivot);
    Index low = begin + 1;
    Index high = end - 1;
    for (bool was_split = true;; was_split = false) {
      while (low <= high && Before(low, begin)) ++low;
      while (low <= high && !Before(high, begin)) --high;
      if (low > high) {
        Swap(high, begin);
        return {high, was_split};
      }
      Swap(low++, high--);
    }
  }

  std::span<T> items_;
  Less& less_;
};

}  // namespace go_sort_internal

// `less(a, b)`: a strict weak order, as std::sort wants it.
template <class T, class Less>
void GoSort(std::span<T> items, Less less) {
  go_sort_internal::Sorter<T, Less>(items, less).Run();
}

template <class T, class Less>
void GoSort(std::vector<T>& items, Less less) {
  GoSort(std::span<T>(items), std::move(less));
}

}  // namespace coppice
