// The table of chunks and what the log's commands do. Deterministic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/plugin.h"
#include "snapshots.pb.h"

namespace drover::snapshots {

using Chunks = Table<v1::RestoreChunk>;

Result<Chunks> declare_table(Declarations& declare);
Status declare_commands(Declarations& declare, Chunks chunks);

// The restores with a chunk that was proposed before `time`.
std::vector<std::string> abandoned(const ReadView& view, Chunks chunks, int64_t time);

}  // namespace drover::snapshots
