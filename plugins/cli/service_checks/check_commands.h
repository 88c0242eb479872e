// The checks of an allocation's services as the command line shows them.
#pragma once

#include <string>

#include "cli_command.h"

namespace drover::v1 {
class AllocationChecksResponse;
}

namespace drover::cli {

// The results as blocks of "key = value", and as the table of `alloc status`. Sorted by service, task and name. Pure.
std::string checks_text(const v1::AllocationChecksResponse& checks);
std::string checks_table(const v1::AllocationChecksResponse& checks);

// Asks the node; empty where there are no checks, or the node does not answer.
std::string checks_section(Run& run, const std::string& alloc_id);

}  // namespace drover::cli
