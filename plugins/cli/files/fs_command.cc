// alloc fs.
#include <algorithm>

#include "cli_command.h"
#include "drover/api/allocations.pb.h"
#include "drover/api/client.pb.h"
#include "files/file_text.h"
#include "files/frames.h"
#include "files/tail.h"
#include "lookup.h"
#include "output.h"

namespace drover::cli {
namespace {

int list_folder(Run& run, const std::string& alloc, const std::string& path) {
  v1::ListFilesRequest request;
  request.set_alloc_id(alloc);
  request.set_path(path);
  auto listed = run.client.call<v1::ClientFiles::List>(request);
  if (!listed) return run.fail("Error listing alloc dir", listed.status());
  const FileColumns columns{.content_type = run.verbose(), .exact_sizes = run.arguments.on("H")};
  std::vector<std::vector<std::string>> rows = {file_header(columns)};
  for (const v1::AllocFileInfo& file : listed->message.files()) rows.push_back(file_row(file, columns));
  run.out << format_list(rows);
  return 0;
}

int show_stat(Run& run, const v1::AllocFileInfo& file) {
  const FileColumns columns{.content_type = true, .exact_sizes = run.arguments.on("H")};
  run.out << format_list({file_header(columns), file_row(file, columns)});
  return 0;
}

Status show_whole(Run& run, const std::string& alloc, const std::string& path) {
  v1::CatFileRequest request;
  request.set_alloc_id(alloc);
  request.set_path(path);
  return run.client.stream<v1::ClientFiles::Cat>(request, run.printer());
}

// In frames: they say where the file ended when it was opened, and what happens to it.
Status show_frames(Run& run, const std::string& alloc, const std::string& path, const std::optional<Tail>& tail) {
  v1::StreamFileRequest request;
  request.set_alloc_id(alloc);
  request.set_path(path);
  request.set_follow(run.arguments.on("f"));
  if (tail) {
    request.set_origin("end");
    request.set_offset(static_cast<int64_t>(std::min<uint64_t>(tail->bytes, INT64_MAX)));
  }
  const auto print = run.printer();
  LastLines lines(tail ? tail->lines : std::nullopt);
  FrameReader frames([&](const v1::FileFrame& frame) {
    if (!frame.file_event().empty()) run.err << path << ": " << frame.file_event() << "\n" << std::flush;
    return print(frame.data().empty() ? lines.end() : lines.take(frame.data()));
  });
  const Status status =
      run.client.stream<v1::ClientFiles::Stream>(request, [&](std::string_view bytes) { return frames.take(bytes); });
  print(lines.end());
  return frames.status().ok() ? status : frames.status();
}

int alloc_fs(Run& run) {
  const auto& words = run.arguments.positional();
  const auto tail = tail_of(run.arguments);
  if (!tail) return run.usage(tail.status().message());
  const bool reads = run.arguments.on("f") || tail->has_value();
  if (reads && run.arguments.on("stat")) return run.usage("-stat shows no content: leave out -f, -tail, -n and -c");
  auto picked = run.arguments.on("job") ? some_alloc_of(run, words[0]) : Result<std::string>(words[0]);
  if (!picked) return run.fail("Error fetching allocations", picked.status());
  auto alloc = find_alloc(run, *picked);
  if (!alloc) return run.fail("Error querying allocation", alloc.status());
  const std::string id = alloc->message.allocation().allocation().id();

  v1::StatFileRequest request;
  request.set_alloc_id(id);
  request.set_path(words.size() > 1 ? words[1] : "/");
  auto file = run.client.call<v1::ClientFiles::Stat>(request);
  if (!file) return run.fail("Error querying file", file.status());
  const v1::AllocFileInfo& info = file->message.info();
  if (run.arguments.on("stat")) return show_stat(run, info);
  if (info.is_dir() && reads)
    return run.usage("-f, -tail, -n and -c are for files: " + request.path() + " is a directory");
  if (info.is_dir()) return list_folder(run, id, request.path());
  if (run.arguments.on("f")) leave_on_interrupt();
  const Status status = reads ? show_frames(run, id, request.path(), *tail) : show_whole(run, id, request.path());
  return status.ok() ? 0 : run.fail(tail->has_value() ? "Error tailing file" : "Error reading file", status);
}

Definition fs_definition(std::string name) {
  std::vector<Flag> flags = {on_off("H", "Sizes in bytes, for programs"),
                             on_off("verbose", "Also the type of the content"),
                             on_off("job", "The argument is a job: take one of its allocations"),
                             on_off("stat", "Describe the file or directory itself")};
  for (Flag& flag : tail_flags()) flags.push_back(std::move(flag));
  return {.name = std::move(name),
          .synopsis = "Lists the directories of an allocation and shows its files.",
          .usage = "<allocation> [path]",
          .description =
              "  The path begins in the allocation's directory: alloc/ is what its tasks share, and each has one\n"
              "  of its own. What lies in a task's secrets/ is never shown.\n",
          .flags = std::move(flags),
          .minimum = 1,
          .maximum = 2,
          .run = alloc_fs};
}

}  // namespace

std::vector<Definition> fs_commands() { return {fs_definition("alloc fs"), fs_definition("fs")}; }

}  // namespace drover::cli
