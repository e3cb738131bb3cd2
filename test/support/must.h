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

}  // namespace coppice::test

#define MUST(...) (::coppice::test::MustValue((__VA_ARGS__)))
#define EXPECT_OK(...)                                            \
  do {                                                            \
    const auto& coppice_status = (__VA_ARGS__);                   \
    EXPECT_TRUE(coppice_status.ok()) << ::coppice::internal::StatusOf(coppice_status); \
  } while (false)
#define ASSERT_OK(...)                                            \
  do {                                                            \
    const auto& coppice_status = (__VA_ARGS__);                   \
    ASSERT_TRUE(coppice_status.ok()) << ::coppice::internal::StatusOf(coppice_status); \
  } while (false)
