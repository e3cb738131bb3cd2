#include "rpc/node_identity.h"

#include "wire/proto_cursor.h"

namespace coppice::rpc {
namespace {

using wire::ProtoCursor;
using wire::Tag;
using wire::WireType;

bool ReadNode(std::string_view message, NodeIdentity& node) {
  ProtoCursor cursor(message);
  while (!cursor.done()) {
    Tag tag;
    if (!cursor.ReadTag(tag)) return false;
    std::string_view* field = tag.number == 1   ? &node.provider_id
                              : tag.number == 2 ? &node.name
                                                : nullptr;
    const bool wanted = field != nullptr && tag.type == WireType::kLengthDelimited;
    if (wanted ? !cursor.ReadBytes(*field) : !cursor.Skip(tag)) return false;
  }
  return true;
}

}  // namespace

std::optional<NodeIdentity> ReadNodeIdentity(std::string_view request) {
  NodeIdentity node;
  ProtoCursor cursor(request);
  while (!cursor.done()) {
    Tag tag;
    if (!cursor.ReadTag(tag)) return std::nullopt;
    if (tag.number != 1 || tag.type != WireType::kLengthDelimited) {
      if (!cursor.Skip(tag)) return std::nullopt;
      continue;
    }
    std::string_view message;
    if (!cursor.ReadBytes(message) || !ReadNode(message, node)) return std::nullopt;
    node.present = true;  // a second one is merged into the first, as the format has it
  }
  return node;
}

}  // namespace coppice::rpc
