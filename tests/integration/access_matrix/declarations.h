// The methods that plugins declare, read from the .proto files of the source tree: those of their own as well as the
// SDK's.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>

#include <memory>
#include <string>
#include <vector>

namespace drover::testing {
class ProtoFolder;
}

namespace drover::matrix {

class Declarations {
 public:
  // `root` is that of the source tree. What cannot be read is said in problems().
  explicit Declarations(const std::string& root);
  ~Declarations();

  // The methods that the HTTP matrix cannot call: without a form, and conversations.
  const std::vector<const google::protobuf::MethodDescriptor*>& methods() const { return methods_; }
  const std::string& problems() const { return problems_; }
  // An empty request of the method.
  std::unique_ptr<google::protobuf::Message> request_of(const google::protobuf::MethodDescriptor& method);

 private:
  void take(const google::protobuf::FileDescriptor& file);

  std::vector<std::unique_ptr<testing::ProtoFolder>> folders_;
  std::vector<const google::protobuf::MethodDescriptor*> methods_;
  std::string problems_;
  google::protobuf::DynamicMessageFactory factory_;
};

}  // namespace drover::matrix
