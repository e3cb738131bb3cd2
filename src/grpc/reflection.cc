#include "grpc/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <set>
#include <utility>

#include "reflection.pb.h"

namespace coppice::grpc {
namespace {

namespace pb = ::grpc::reflection::v1;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

// The file and all that it imports, each once, imports last: the order that clients know.
void AddFile(const FileDescriptor* file, std::set<const FileDescriptor*>& seen,
             pb::FileDescriptorResponse& out) {
  if (!seen.insert(file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file->CopyTo(&proto);
  out.add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file->dependency_count(); ++i) AddFile(file->dependency(i), seen, out);
}

class Asked final : public StreamHandler {
 public:
  Asked(const std::vector<std::string>& services, StreamClient& client)
      : services_(services), client_(client) {}

  void OnMessage(std::string_view message) override {
    pb::ServerReflectionRequest request;
    if (!request.ParseFromArray(message.data(), static_cast<int>(message.size())))
      return client_.Finish(InvalidArgument("not a ServerReflectionRequest"));
    client_.Send(Respond(request).SerializeAsString());
  }
  void OnEnd() override { client_.Finish(Status::Ok()); }

 private:
  pb::ServerReflectionResponse Respond(const pb::ServerReflectionRequest& request) const {
    pb::ServerReflectionResponse answer;
    answer.set_valid_host(request.host());
    *answer.mutable_original_request() = request;
    const DescriptorPool& pool = *DescriptorPool::generated_pool();
    switch (request.message_request_case()) {
      case pb::ServerReflectionRequest::kFileByFilename:
        Describe(pool.FindFileByName(request.file_by_filename()), request.file_by_filename(),
                 answer);
        break;
      case pb::ServerReflectionRequest::kFileContainingSymbol:
        Describe(pool.FindFileContainingSymbol(request.file_containing_symbol()),
                 request.file_containing_symbol(), answer);
        break;
      case pb::ServerReflectionRequest::kFileContainingExtension: {
        const auto& wanted = request.file_containing_extension();
        const auto* type = pool.FindMessageTypeByName(wanted.containing_type());
        const FieldDescriptor* field =
            type == nullptr ? nullptr : pool.FindExtensionByNumber(type, wanted.extension_number());
        Describe(field == nullptr ? nullptr : field->file(), wanted.containing_type(), answer);
        break;
      }
      case pb::ServerReflectionRequest::kAllExtensionNumbersOfType:
        ListExtensions(pool, request.all_extension_numbers_of_type(), answer);
        break;
      case pb::ServerReflectionRequest::kListServices:
        for (const std::string& name : services_)
          answer.mutable_list_services_response()->add_service()->set_name(name);
        break;
      case pb::ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
        Refuse(InvalidArgument("the request asks for nothing"), answer);
        break;
    }
    return answer;
  }

  static void Refuse(const Status& status, pb::ServerReflectionResponse& answer) {
    answer.mutable_error_response()->set_error_code(static_cast<int>(status.code()));
    answer.mutable_error_response()->set_error_message(status.message());
  }

  static void Describe(const FileDescriptor* file, const std::string& name,
                       pb::ServerReflectionResponse& answer) {
    if (file == nullptr) return Refuse(NotFound("nothing here is called '" + name + "'"), answer);
    std::set<const FileDescriptor*> seen;
    AddFile(file, seen, *answer.mutable_file_descriptor_response());
  }

  static void ListExtensions(const DescriptorPool& pool, const std::string& name,
                             pb::ServerReflectionResponse& answer) {
    const auto* type = pool.FindMessageTypeByName(name);
    if (type == nullptr) return Refuse(NotFound("no message type '" + name + "'"), answer);
    auto& numbers = *answer.mutable_all_extension_numbers_response();
    numbers.set_base_type_name(name);
    std::vector<const FieldDescriptor*> all;
    pool.FindAllExtensions(type, &all);
    for (const FieldDescriptor* field : all) numbers.add_extension_number(field->number());
  }

  const std::vector<std::string>& services_;
  StreamClient& client_;
};

}  // namespace

void AddReflection(Routes& routes, std::vector<std::string> services) {
  const auto shared = std::make_shared<const std::vector<std::string>>(std::move(services));
  for (const char* path : {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                           "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"}) {
    routes.Add(
        {.path = path, .stream = [shared](StreamClient& client) -> std::unique_ptr<StreamHandler> {
           return std::make_unique<Asked>(*shared, client);
         }});
  }
}

}  // namespace coppice::grpc
