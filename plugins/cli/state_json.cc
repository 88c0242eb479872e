#include "state_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "drover/base64.h"
#include "drover/json.h"
#include "storage/state_snapshot.h"

// The data model's descriptors are registered where they are named.
#include "drover/v1/allocation.pb.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::cli {
namespace {

class Printer final : public SnapshotVisitor {
 public:
  explicit Printer(std::ostream& out) : out_(out) {}

  Status table(const SnapshotTable& table) override {
    out_ << (is_first_table_ ? "" : "\n    ],\n") << "    " << nlohmann::json(table.name).dump() << ": [";
    message_ = table.message;
    is_first_table_ = false;
    is_first_row_ = true;
    return ok_status();
  }
  Status row(std::string_view bytes) override {
    out_ << (is_first_row_ ? "\n      " : ",\n      ") << row_json(message_, bytes);
    is_first_row_ = false;
    return out_ ? ok_status() : cancelled("the output was closed");
  }
  void end() { out_ << (is_first_table_ ? "" : "\n    ]\n"); }

 private:
  std::ostream& out_;
  std::string message_;
  bool is_first_table_ = true;
  bool is_first_row_ = true;
};

}  // namespace

std::string row_json(const std::string& name, std::string_view bytes) {
  const auto* type = google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(name);
  if (type != nullptr) {
    const auto* prototype = google::protobuf::MessageFactory::generated_factory()->GetPrototype(type);
    const std::unique_ptr<google::protobuf::Message> message(prototype->New());
    if (message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return message_to_json(*message);
  }
  return nlohmann::json{{"Message", name}, {"Bytes", base64_encode(bytes)}}.dump();
}

Status print_state(ByteSource& state, uint64_t index, std::ostream& out) {
  out << "{\n  \"Index\": " << index << ",\n  \"Tables\": {\n";
  Printer printer(out);
  DROVER_RETURN_IF_ERROR(read_state_snapshot(state, printer).status());
  printer.end();
  out << "  }\n}\n";
  return ok_status();
}

}  // namespace drover::cli
