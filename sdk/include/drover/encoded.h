// The answer of a handler that gives rows on as they stand, undecoded: Result<Encoded<Response>> list(const Request&, Call&).
//
//   Encoded<v1::ListDeploymentsResponse> response;
//   response.add(v1::ListDeploymentsResponse::kDeploymentsFieldNumber, row);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "drover/message_fields.h"

namespace drover {

template <typename Response>
class Encoded {
 public:
  // Adds a serialized message to that list of the response. Requires: the list holds messages of its type.
  void add(uint32_t list, std::string_view row) { append_field(bytes_, list, row); }
  // As a message's, once.
  std::string SerializeAsString() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace drover
