// A state snapshot as JSON, row by row: for looks at a saved state and at a stopped server.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "drover/byte_stream.h"
#include "drover/result.h"

namespace drover::cli {

// {"Index": …, "Tables": {"<table>": [rows]}}. Errors: data_loss; the source's own. The text printed then is cut off.
Status print_state(ByteSource& state, uint64_t index, std::ostream& out);

// A message of the shared data model in the API's form, without secrets; one of another plugin's as its bytes in
// base64.
std::string row_json(const std::string& message, std::string_view bytes);

}  // namespace drover::cli
