// MUST(expr): the value of a Result, or the end of the test program with the failure's text.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <source_location>
#include <utility>

#include "base/status.h"

namespace coppice::test {

template <class T>
T MustValue(Result<T> result, std::source_location where = std::source_location::current()) {
  if (!result.ok()) {
    std::cerr << where.file_name() << ":" << where.line() << ": " << result.status() << std::endl;
    std::abort();
  }
  return std::move(result).value();
}

template <class StatusOrResult>
testing::AssertionResult IsOk(const char* text, const StatusOrResult& result) {
  if (result.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << text << ": " << internal::StatusOf(result);
}

}  // namespace coppice::test

#define MUST(...) (::coppice::test::MustValue((__VA_ARGS__)))
// More text may be streamed into both: EXPECT_OK(pool.Submit(work)) << "piece " << i;
#define EXPECT_OK(...) EXPECT_PRED_FORMAT1(::coppice::test::IsOk, (__VA_ARGS__))
#define ASSERT_OK(...) ASSERT_PRED_FORMAT1(::coppice::test::IsOk, (__VA_ARGS__))
