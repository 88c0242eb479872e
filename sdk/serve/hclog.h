// Log lines as a host of plugins reads them from standard error: one JSON object a line, with the keys of hclog.
#pragma once

#include <string>

#include "drover/log.h"

namespace drover::serve {

// With its line end. Pure.
std::string hclog_line(int64_t wall_ns, log::Level level, std::string_view component, std::string_view sentence,
                       std::span<const log::Field> fields);

// Writes each line whole. A host that has gone is no error.
class HclogSink final : public log::Sink {
 public:
  void write(log::Level level, std::string_view component, std::string_view sentence,
             std::span<const log::Field> fields) override;
};

}  // namespace drover::serve
