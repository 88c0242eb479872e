#include "declarations.h"

#include "drover/options.pb.h"
#include "tests/support/proto_folders.h"

namespace drover::matrix {

namespace pb = google::protobuf;

Declarations::Declarations(const std::string& root) : folders_(testing::all_proto_folders(PROTOC, root)) {
  for (const auto& folder : folders_) {
    if (!folder->problems().empty()) problems_ += folder->label() + ": " + folder->problems() + "\n";
    for (const pb::FileDescriptor* file : folder->files()) {
      // A test's own methods are in no agent.
      if (!file->name().ends_with("_test.proto")) take(*file);
    }
  }
}

Declarations::~Declarations() = default;

void Declarations::take(const pb::FileDescriptor& file) {
  for (int s = 0; s < file.service_count(); ++s) {
    const pb::ServiceDescriptor& service = *file.service(s);
    for (int m = 0; testing::is_routed(service) && m < service.method_count(); ++m) {
      const pb::MethodDescriptor& method = *service.method(m);
      if (!method.options().HasExtension(drover::http) || method.client_streaming()) methods_.push_back(&method);
    }
  }
}

std::unique_ptr<pb::Message> Declarations::request_of(const pb::MethodDescriptor& method) {
  return std::unique_ptr<pb::Message>(factory_.GetPrototype(method.input_type())->New());
}

}  // namespace drover::matrix
