#include "rpc/expander_messages.h"

#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>

#include "expander.pb.h"
#include "wire/wire.h"

namespace coppice::rpc {
namespace {

// The request is written by hand: with fifty thousand pods in ten options the generated classes
// would hold every pod ten times before the first byte is written.
constexpr char kOptions = 0x0A;          // BestOptionsRequest.options = 1
constexpr char kNodeMap = 0x12;          // .nodeMap = 2
constexpr char kNodeBytesMap = 0x1A;     // .nodeBytesMap = 3
constexpr char kMapKey = 0x0A;           // of a map's entry: key = 1
constexpr char kMapValue = 0x12;         // value = 2
constexpr char kOptionGroup = 0x0A;      // Option.nodeGroupId = 1
constexpr char kOptionNodeCount = 0x10;  // .nodeCount = 2, a varint
constexpr char kOptionDebug = 0x1A;      // .debug = 3
constexpr char kOptionPod = 0x22;        // .pod = 4
constexpr char kOptionPodBytes = 0x2A;   // .podBytes = 5
constexpr size_t kMostBytes = std::numeric_limits<int32_t>::max();

size_t VarintSize(uint64_t value) {
  size_t size = 1;
  while (value > 0x7F) {
    value >>= 7;
    ++size;
  }
  return size;
}
size_t FieldSize(size_t length) { return 1 + VarintSize(length) + length; }

void PutVarint(std::string& out, uint64_t value) {
  while (value > 0x7F) {
    out.push_back(static_cast<char>((value & 0x7F) | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}
void PutHeader(std::string& out, char tag, size_t length) {
  out.push_back(tag);
  PutVarint(out, length);
}
void PutField(std::string& out, char tag, std::string_view bytes) {
  PutHeader(out, tag, bytes.size());
  out.append(bytes);
}

using PodBytes = std::unordered_map<const model::Pod*, std::string>;

// As proto3 has it: negative numbers are sign-extended to 64 bits.
uint64_t CountOf(const expand::Option& option) {
  return static_cast<uint64_t>(static_cast<int64_t>(option.node_count));
}

size_t SizeOf(const expand::Option& option, const PodBytes& pods, Era era) {
  size_t size = 0;
  if (!option.group.empty()) size += FieldSize(option.group.size());
  if (option.node_count != 0) size += 1 + VarintSize(CountOf(option));
  if (!option.debug.empty()) size += FieldSize(option.debug.size());
  for (const model::Pod* pod : option.pods) {
    size += FieldSize(pods.at(pod).size()) * (era == Era::kBoth ? 2 : 1);
  }
  return size;
}

void Put(std::string& out, const expand::Option& option, const PodBytes& pods, Era era) {
  if (!option.group.empty()) PutField(out, kOptionGroup, option.group);
  if (option.node_count != 0) {
    out.push_back(kOptionNodeCount);
    PutVarint(out, CountOf(option));
  }
  if (!option.debug.empty()) PutField(out, kOptionDebug, option.debug);
  if (era == Era::kBoth) {
    for (const model::Pod* pod : option.pods) PutField(out, kOptionPod, pods.at(pod));
  }
  for (const model::Pod* pod : option.pods) PutField(out, kOptionPodBytes, pods.at(pod));
}

void PutNode(std::string& out, char tag, const std::string& group, const std::string& node) {
  PutHeader(out, tag, FieldSize(group.size()) + FieldSize(node.size()));
  PutField(out, kMapKey, group);
  PutField(out, kMapValue, node);
}

template <class T>
Result<T> Read(std::string_view bytes, const std::string& what, const std::string& group) {
  return wire::FromProto<T>(bytes).Context(what + " of node group '" + group + "'");
}

}  // namespace

Result<std::string> SerializeBestOptionsRequest(const std::vector<const expand::Option*>& options,
                                                const GroupTemplates& templates, Era era) {
  PodBytes pods;
  size_t total = 0;
  for (const expand::Option* option : options) {
    for (const model::Pod* pod : option->pods) {
      const auto [it, fresh] = pods.try_emplace(pod);
      if (fresh) it->second = wire::ToProto(*pod);
    }
    total += FieldSize(SizeOf(*option, pods, era));
  }
  // Sorted by key, so that the same question has the same bytes. The last of two equal ids counts,
  // as in any map.
  std::map<std::string, std::string> nodes;
  for (const auto& [group, node] : templates) nodes[group] = wire::ToProto(*node);
  for (const auto& [group, bytes] : nodes) {
    total +=
        FieldSize(FieldSize(group.size()) + FieldSize(bytes.size())) * (era == Era::kBoth ? 2 : 1);
  }
  if (total > kMostBytes) {
    return ResourceExhausted("the options with their pods are " + std::to_string(total >> 20) +
                             " MiB, more than gRPC can carry");
  }
  std::string out;
  out.reserve(total);
  for (const expand::Option* option : options) {
    PutHeader(out, kOptions, SizeOf(*option, pods, era));
    Put(out, *option, pods, era);
  }
  if (era == Era::kBoth) {
    for (const auto& [group, bytes] : nodes) PutNode(out, kNodeMap, group, bytes);
  }
  for (const auto& [group, bytes] : nodes) PutNode(out, kNodeBytesMap, group, bytes);
  return out;
}

Result<std::vector<std::string>> ParseBestOptionsResponse(std::string_view bytes) {
  grpcplugin::BestOptionsResponse response;
  if (bytes.size() > kMostBytes ||
      !response.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("the answer is not a well-formed BestOptionsResponse");
  }
  std::vector<std::string> groups;
  for (grpcplugin::Option& option : *response.mutable_options())
    groups.push_back(std::move(*option.mutable_nodegroupid()));
  return groups;
}

Result<std::unique_ptr<const OfferedOptions>> ParseBestOptionsRequest(std::string_view bytes) {
  grpcplugin::BestOptionsRequest request;
  if (bytes.size() > kMostBytes ||
      !request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("the request is not a well-formed BestOptionsRequest");
  }
  auto offered = std::make_unique<OfferedOptions>();
  const auto& nodes = request.nodebytesmap().empty() ? request.nodemap() : request.nodebytesmap();
  std::map<std::string, const model::Node*> node_of;
  for (const auto& [group, node] : nodes) {
    offered->nodes.push_back(TRY(Read<model::Node>(node, "the template", group)));
    node_of[group] = &offered->nodes.back();
  }
  offered->templates.assign(node_of.begin(), node_of.end());
  // The same pod usually stands in every option: read once.
  std::unordered_map<std::string_view, const model::Pod*> known;
  for (const grpcplugin::Option& given : request.options()) {
    expand::Option option;
    option.group = given.nodegroupid();
    option.node_count = given.nodecount();
    option.debug = given.debug();
    if (const auto it = node_of.find(option.group); it != node_of.end()) option.node = it->second;
    const auto& pods = given.podbytes().empty() ? given.pod() : given.podbytes();
    option.pods.reserve(static_cast<size_t>(pods.size()));
    for (const std::string& pod : pods) {
      const auto [it, fresh] = known.try_emplace(pod, nullptr);
      if (fresh) {
        offered->pods.push_back(TRY(Read<model::Pod>(pod, "a pod", option.group)));
        it->second = &offered->pods.back();
      }
      option.pods.push_back(it->second);
    }
    offered->options.push_back(std::move(option));
  }
  return std::unique_ptr<const OfferedOptions>(std::move(offered));
}

std::string SerializeBestOptionsResponse(const std::vector<const expand::Option*>& options) {
  grpcplugin::BestOptionsResponse response;
  for (const expand::Option* option : options) {
    grpcplugin::Option& answer = *response.add_options();
    answer.set_nodegroupid(option->group);
    answer.set_nodecount(option->node_count);
    answer.set_debug(option->debug);
  }
  return response.SerializeAsString();
}

}  // namespace coppice::rpc
