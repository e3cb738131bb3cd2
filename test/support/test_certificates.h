// Certificates for tests: a certificate authority in memory and what it signs, as PEM text or as
// files.

#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coppice::test {

struct PemPair {
  std::string cert;
  std::string key;
};

class TestAuthority {
 public:
  explicit TestAuthority(std::string name = "test authority");
  ~TestAuthority();

  const std::string& pem() const { return pem_; }
  // A certificate for both roles, valid for a month. `names` become subject alternative names; an
  // IPv4 address is one of its own kind.
  PemPair Issue(const std::string& common_name, const std::vector<std::string>& names) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::string pem_;
};

// Ends with everything in it.
class TempDirectory {
 public:
  TempDirectory();
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Replaces the file in one step, as a careful tool does; returns its path.
  std::string Write(const std::string& name, std::string_view text) const;
  std::string At(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// ca.crt, and server.* and client.* (.crt, .key) for a provider at localhost and its autoscaler.
void WriteMutualTls(const TestAuthority& authority, const TempDirectory& dir);

}  // namespace coppice::test
