#include "wire_details.h"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "nomad/plugins/driver.pb.h"
#include "nomad/plugins/structs.pb.h"

namespace drover::serve {
namespace {

constexpr int64_t kGoZeroTimeSeconds = -62135596800;  // of 1 January in year 1
constexpr int64_t kSecond = 1'000'000'000;

// google.rpc.Status {code 1, message 2, details 3 of google.protobuf.Any}: the form of details on every gRPC error.
std::string recoverable_details(const Status& status) {
  hashicorp::nomad::plugins::shared::structs::RecoverableError recoverable;
  recoverable.set_recoverable(true);
  google::protobuf::Any any;
  (void)any.PackFrom(recoverable);
  const std::string detail = any.SerializeAsString();
  constexpr uint8_t kVarint = 0, kBytes = 2;
  std::string out;
  {
    google::protobuf::io::StringOutputStream stream(&out);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.WriteTag(1 << 3 | kVarint);
    coded.WriteVarint32(static_cast<uint32_t>(status.code()));
    coded.WriteTag(2 << 3 | kBytes);
    coded.WriteVarint32(static_cast<uint32_t>(status.message().size()));
    coded.WriteString(status.message());
    coded.WriteTag(3 << 3 | kBytes);
    coded.WriteVarint32(static_cast<uint32_t>(detail.size()));
    coded.WriteString(detail);
  }
  return out;
}

}  // namespace

void complete(driver::InspectTaskResponse& response) {
  driver::TaskStatus& task = *response.mutable_task();
  for (google::protobuf::Timestamp* time : {task.mutable_started_at(), task.mutable_completed_at()}) {
    if (time->seconds() == 0 && time->nanos() == 0) time->set_seconds(kGoZeroTimeSeconds);
  }
  (void)task.mutable_result();
  (void)response.mutable_driver();
}

void complete(driver::TaskStats& stats, int64_t now_ns) {
  if (!stats.has_timestamp()) {
    stats.mutable_timestamp()->set_seconds(now_ns / kSecond);
    stats.mutable_timestamp()->set_nanos(static_cast<int32_t>(now_ns % kSecond));
  }
  const auto complete_usage = [](driver::TaskResourceUsage& usage) {
    (void)usage.mutable_cpu();
    (void)usage.mutable_memory();
  };
  complete_usage(*stats.mutable_agg_resource_usage());
  for (auto& [pid, usage] : *stats.mutable_resource_usage_by_pid()) complete_usage(usage);
}

Status on_the_wire(const Status& status) {
  switch (status.code()) {
    case Code::ok:
    case Code::cancelled:
    case Code::invalid_argument:
    case Code::already_exists:
      return status;
    case Code::failed_precondition:
      return Status(status).with_details(recoverable_details(status));
    case Code::not_found:
      // Hosts compare the text.
      if (status.message().find(kTaskNotFound) == std::string::npos)
        return Status(Code::unknown, std::string(kTaskNotFound) + ": " + status.message());
      return Status(Code::unknown, status.message());
    default:
      // Among them `unavailable`, which a host would take for the end of the program.
      return Status(Code::unknown, status.message());
  }
}

}  // namespace drover::serve
