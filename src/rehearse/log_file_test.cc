#include "rehearse/log_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::rehearse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Read {
  std::vector<std::string> lines;
  std::vector<std::string> notes;
  Status status;
};

Read ReadBytes(std::string_view bytes) {
  Read read;
  read.status = ReadFrames(
      bytes, "log", [&](std::string_view line) { read.lines.emplace_back(line); }, read.notes);
  return read;
}

TEST(LogFileTest, LinesComeBack) {
  const Read read = ReadBytes(kLogMagic + ToFrames("one\ntwo\n") + ToFrames("three\n"));
  EXPECT_OK(read.status);
  EXPECT_THAT(read.lines, ElementsAre("one", "two", "three"));
  EXPECT_THAT(read.notes, IsEmpty());
}

TEST(LogFileTest, ManyLinesAreCutIntoFramesBetweenLines) {
  std::string lines;
  for (int i = 0; i < 200'000; ++i) lines += "line " + std::to_string(i) + "\n";
  const Read read = ReadBytes(kLogMagic + ToFrames(lines));
  ASSERT_EQ(read.lines.size(), 200'000u);
  EXPECT_EQ(read.lines.back(), "line 199999");
}

// Wherever a machine was when it stopped: what is whole is read.
TEST(LogFileTest, AFileThatIsCutOffIsReadUpToThere) {
  const std::string whole = kLogMagic + ToFrames("one\n") + ToFrames("two\n");
  const size_t first = std::string(kLogMagic).size() + ToFrames("one\n").size();
  for (size_t length = std::string(kLogMagic).size(); length <= whole.size(); ++length) {
    const Read read = ReadBytes(std::string_view(whole).substr(0, length));
    EXPECT_OK(read.status);
    EXPECT_EQ(read.lines.size(), length == whole.size() ? 2u : length >= first ? 1u : 0u) << length;
    const bool between =
        length == whole.size() || length == first || length == std::string(kLogMagic).size();
    EXPECT_EQ(read.notes.empty(), between) << length;
  }
}

TEST(LogFileTest, ADamagedFrameIsNoticed) {
  std::string bytes = kLogMagic + ToFrames("one\n") + ToFrames("two\n");
  bytes[bytes.size() - 3] ^= 1;
  const Read read = ReadBytes(bytes);
  EXPECT_THAT(read.lines, ElementsAre("one"));
  EXPECT_THAT(read.notes, ElementsAre(HasSubstr("damaged")));
  EXPECT_FALSE(ReadBytes("something else").status.ok());
}

class LogWriterTest : public testing::Test {
 protected:
  std::shared_ptr<LogWriter> Open(size_t file_bytes, size_t total_bytes) {
    return MUST(LogWriter::Open(
        {.directory = dir_.At("log"), .max_file_bytes = file_bytes, .max_total_bytes = total_bytes},
        workers_, log_));
  }
  size_t Files() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir_.At("log"))) {
      ++count;
    }
    return count;
  }
  test::TempDirectory dir_;
  InlineWorkers workers_;
  Log log_ = Log::Null();
};

TEST_F(LogWriterTest, ANewFileBeginsWhenOneIsLargeEnoughAndTheOldestGo) {
  const auto writer = Open(100, 250);
  TimePoint now{std::chrono::seconds(1'767'592'800)};
  for (int i = 0; i < 20; ++i) {
    const bool first = writer->WantsSnapshot();
    EXPECT_EQ(first, i % 2 == 0) << i;
    std::string line = "{\"number\":" + std::to_string(i) + ",\"";
    for (int j = 0; j < 40; ++j) line += static_cast<char>('a' + (i * 7 + j * j) % 26);
    EXPECT_TRUE(writer->Write(line + "\"}\n", first, now));
    now += std::chrono::seconds(1);
  }
  EXPECT_GE(Files(), 1u);
  EXPECT_LE(Files(), 3u);
  std::vector<std::string> lines;
  std::vector<std::string> notes;
  EXPECT_OK(
      ReadLog(dir_.At("log"), [&](std::string_view line) { lines.emplace_back(line); }, notes));
  EXPECT_THAT(lines.back(), HasSubstr("\"number\":19"));
  EXPECT_THAT(notes, IsEmpty());
}

TEST_F(LogWriterTest, ADirectoryThatCannotBeMadeIsRefused) {
  EXPECT_FALSE(LogWriter::Open({.directory = "/proc/nothing/here"}, workers_, log_).ok());
}

}  // namespace
}  // namespace coppice::rehearse
