// An allocation's data as a tar: alloc/data, and <task>/local of each task. Names are relative to the allocation's
// folder.
//
// Packing takes files, folders and symbolic links, and leaves out the rest. Unpacking trusts nothing: names stay below
// those folders and take no link, links lead nowhere else, and there is a limit. By libarchive and openat2. [any]
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "drover/hook.h"
#include "drover/result.h"
#include "drover/uuid.h"

namespace drover::agent {

// Takes the next bytes of the archive; false: no more, please.
using ArchiveSink = std::function<bool(std::string_view bytes)>;

// A last file, NOMAD-<allocation>-ERROR.log, says what went wrong on the way. Errors: cancelled, by `sink` or `stop`.
Status pack_data(const AllocFolders& folders, Uuid allocation, const std::vector<std::string>& tasks,
                 const ArchiveSink& sink, const std::stop_token& stop);

// The next bytes of the archive; empty at its end.
using ArchiveSource = std::function<Result<std::string>()>;

struct Unpacked {
  uint64_t bytes = 0, files = 0;
  uint64_t dropped_links = 0;  // they led out of the allocation
};
// Unpacks into `folders`, which are there and whose folders "data" and "local" are made. `most_bytes`: of the archive.
// Errors: invalid_argument for an archive that is damaged, names something else, or holds a file with what went wrong
// at the other end; resource_exhausted above the limit; those of `source`.
Result<Unpacked> unpack_data(const AllocFolders& folders, const std::vector<std::string>& tasks,
                             const ArchiveSource& source, uint64_t most_bytes);

// The parts of an entry's name: below alloc/data, or below <task>/local of one of `tasks`. Errors: invalid_argument,
// saying what is wrong with it. Pure.
Result<std::vector<std::string>> check_entry_name(std::string_view name, const std::vector<std::string>& tasks);
// True when a link at these parts leads into the allocation's own folder, as the machine or the task sees it. Pure.
bool stays_in_allocation(const std::vector<std::string>& parts, std::string_view to);

}  // namespace drover::agent
