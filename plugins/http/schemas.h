// JSON schemas of messages in the API's forms (drover/json.h), as OpenAPI 3.0 writes them.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace google::protobuf {
class Descriptor;
class DescriptorPool;
class FieldDescriptor;
class MethodDescriptor;
}  // namespace google::protobuf

namespace drover::api {

// The comments of the public API's declarations, each in one line; empty where there is none.
class Comments {
 public:
  Comments();
  ~Comments();
  std::string of(const google::protobuf::Descriptor& type) const;
  std::string of(const google::protobuf::FieldDescriptor& field) const;
  std::string of(const google::protobuf::MethodDescriptor& method) const;

 private:
  std::unique_ptr<google::protobuf::DescriptorPool> pool_;
};

class Schemas {
 public:
  explicit Schemas(const Comments& comments) : comments_(comments) {}

  // Refers to the message's schema, and adds it with all that it reaches.
  nlohmann::json reference(const google::protobuf::Descriptor& type);
  // A field as it stands in its message, with its comment.
  nlohmann::json field(const google::protobuf::FieldDescriptor& field);
  // One value of the field, as text of a path or query has it.
  nlohmann::json parameter(const google::protobuf::FieldDescriptor& field);
  // The schemas that were added, by name.
  nlohmann::json all() const;

 private:
  nlohmann::json value(const google::protobuf::FieldDescriptor& field);
  nlohmann::json properties(const google::protobuf::Descriptor& type);

  const Comments& comments_;
  std::map<std::string, std::string> done_;  // JSON text by name; empty while it is being made
};

}  // namespace drover::api
