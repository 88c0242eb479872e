// operator snapshot …: saves the state of a cluster, looks into what was saved, and restores it.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "drover/api/snapshots.pb.h"
#include "drover/base64.h"
#include "drover/sha256.h"
#include "output.h"
#include "state_json.h"
#include "storage/snapshot_archive.h"
#include "storage/state_snapshot.h"

namespace drover::cli {
namespace {

using nlohmann::json;

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// A file, as a stream in both directions.
class OpenFile final : public ByteSource, public ByteSink {
 public:
  explicit OpenFile(int file) : file_(file) {}
  ~OpenFile() override {
    if (file_ >= 0) ::close(file_);
  }
  OpenFile(const OpenFile&) = delete;

  Result<size_t> read(std::span<char> buffer) override {
    ssize_t n = 0;
    do {
      n = ::pread(file_, buffer.data(), buffer.size(), static_cast<off_t>(at_));
    } while (n < 0 && errno == EINTR);
    if (n < 0) return errno_status(errno, "read the file");
    at_ += static_cast<uint64_t>(n);
    return static_cast<size_t>(n);
  }
  Status write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::write(file_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno_status(errno, "write the file");
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return ok_status();
  }
  Status sync() { return ::fsync(file_) == 0 ? ok_status() : errno_status(errno, "write the file"); }
  Result<uint64_t> size() const {
    const off_t end = ::lseek(file_, 0, SEEK_END);
    return end < 0 ? Result<uint64_t>(errno_status(errno, "read the file")) : static_cast<uint64_t>(end);
  }
  void rewind() { at_ = 0; }

 private:
  const int file_;
  uint64_t at_ = 0;
};

Result<std::unique_ptr<OpenFile>> open_to_read(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno_status(errno, path);
  return std::make_unique<OpenFile>(file);
}

// For the state out of an archive, until its sums are known to be right.
Result<std::unique_ptr<OpenFile>> nameless_file() {
  const char* folder = std::getenv("TMPDIR");
  std::string name = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/drover-state-XXXXXX";
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) return errno_status(errno, name);
  ::unlink(name.c_str());
  return std::make_unique<OpenFile>(file);
}

class Nowhere final : public ByteSink {
 public:
  Status write(std::string_view) override { return ok_status(); }
};

// How far something long has come, on a terminal.
class Progress {
 public:
  Progress(std::ostream& err, std::string what) : err_(err), what_(std::move(what)), is_shown_(::isatty(2) == 1) {}
  ~Progress() {
    if (shown_ > 0) err_ << "\r\033[K" << std::flush;
  }
  Progress(const Progress&) = delete;
  void add(uint64_t bytes) {
    bytes_ += bytes;
    if (!is_shown_ || bytes_ >> 23 == shown_) return;
    shown_ = bytes_ >> 23;
    err_ << "\r" << what_ << " " << (bytes_ >> 20) << " MiB" << std::flush;
  }

 private:
  std::ostream& err_;
  const std::string what_;
  const bool is_shown_;
  uint64_t bytes_ = 0;
  uint64_t shown_ = 0;  // in steps of eight mebibytes
};

// Counts what is read of another source.
class Watched final : public ByteSource {
 public:
  Watched(ByteSource& inner, Progress& progress) : inner_(inner), progress_(progress) {}
  Result<size_t> read(std::span<char> buffer) override {
    DROVER_TRY(const size_t n, inner_.read(buffer));
    progress_.add(n);
    return n;
  }

 private:
  ByteSource& inner_;
  Progress& progress_;
};

struct Opened {
  ArchiveMeta meta;
  SnapshotContent content;
  std::unique_ptr<OpenFile> state;  // at its beginning
};

// The archive, verified down to the last row.
Result<Opened> open_archive(Run& run, const std::string& path) {
  DROVER_TRY(const auto file, open_to_read(path));
  Progress progress(run.err, "Verifying");
  Watched watched(*file, progress);
  Opened opened;
  DROVER_TRY(opened.state, nameless_file());
  Result<ArchiveMeta> meta = read_archive(watched, *opened.state, kNoLimit);
  if (!meta) return meta.status().with_context(path);
  opened.meta = *std::move(meta);
  Result<SnapshotContent> content = inspect_state_snapshot(*opened.state);
  if (!content) return content.status().with_context(path);
  opened.content = *std::move(content);
  opened.state->rewind();
  return opened;
}

// --- save ------------------------------------------------------------------------------------------------------------

std::string default_name() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[64];
  std::strftime(text, sizeof text, "nomad-state-%Y%m%d-", &parts);
  return text + std::to_string(now) + ".snap";
}

// Into a file beside the one wanted, which takes its name only when everything about it is right.
Status download(Run& run, const std::string& part) {
  const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return errno_status(errno, part);
  OpenFile file(descriptor);
  const Parameters further = run.arguments.on("stale") ? Parameters{{"stale", "true"}} : Parameters();
  Sha256 sum;
  Status written;
  std::string digest;
  {
    Progress progress(run.err, "Receiving");
    const Status received = run.client.stream<v1::OperatorSnapshot::Save>(
        {},
        [&](std::string_view bytes) {
          sum.add(bytes);
          progress.add(bytes.size());
          written = file.write(bytes);
          return written.ok();
        },
        further, &digest);
    DROVER_RETURN_IF_ERROR(received);
  }
  DROVER_RETURN_IF_ERROR(written);
  if (digest != "sha-256=" + base64_encode(sum.take()))
    return data_loss("what has arrived is not what the server sent (its header Digest says so)");
  DROVER_RETURN_IF_ERROR(file.sync());
  return open_archive(run, part).status();
}

int save(Run& run) {
  const auto& given = run.arguments.positional();
  const std::string path = given.empty() ? default_name() : given[0];
  const std::string part = path + ".part-" + std::to_string(::getpid());
  if (const Status status = download(run, part); !status.ok()) {
    ::unlink(part.c_str());
    return run.fail("Error saving snapshot", status);
  }
  if (::rename(part.c_str(), path.c_str()) != 0) {
    const Status status = errno_status(errno, path);
    ::unlink(part.c_str());
    return run.fail("Error saving snapshot", status);
  }
  run.out << "State file written to " << path << "\n";
  return 0;
}

// --- inspect, state --------------------------------------------------------------------------------------------------

int inspect(Run& run) {
  const auto opened = open_archive(run, run.arguments.positional()[0]);
  if (!opened) return run.fail("Error inspecting snapshot", opened.status());
  const ArchiveMeta& meta = opened->meta;
  if (run.arguments.on("json")) {
    json out = {{"ID", meta.id},     {"Size", meta.size},       {"Index", meta.index},
                {"Term", meta.term}, {"Version", meta.version}, {"CreatedBy", meta.created_by}};
    for (const ArchiveServer& server : meta.servers) {
      out["Servers"].push_back({{"ID", server.id}, {"Address", server.address}, {"Voter", server.is_voter}});
    }
    for (const SnapshotTable& table : opened->content.tables) {
      out["Tables"].push_back({{"Name", table.name}, {"Rows", table.rows}, {"Bytes", table.bytes}});
    }
    run.out << out.dump(4) << "\n";
    return 0;
  }
  run.out << format_pairs({{"ID", meta.id},
                           {"Size", std::to_string(meta.size)},
                           {"Index", std::to_string(meta.index)},
                           {"Term", std::to_string(meta.term)},
                           {"Version", std::to_string(meta.version)}});
  std::vector<std::vector<std::string>> rows = {{"Table", "Rows", "Bytes"}};
  for (const SnapshotTable& table : opened->content.tables) {
    rows.push_back({table.name, std::to_string(table.rows), std::to_string(table.bytes)});
  }
  run.out << "\n" << format_list(rows);
  return 0;
}

int state(Run& run) {
  const auto opened = open_archive(run, run.arguments.positional()[0]);
  if (!opened) return run.fail("Error reading snapshot", opened.status());
  const Status status = print_state(*opened->state, opened->meta.index, run.out);
  return status.ok() ? 0 : run.fail("Error reading snapshot", status);
}

// --- restore ---------------------------------------------------------------------------------------------------------

int restore(Run& run) {
  const std::string& path = run.arguments.positional()[0];
  const auto upload = [&]() -> Status {
    // A damaged archive is not sent at all.
    DROVER_RETURN_IF_ERROR(open_archive(run, path).status());
    DROVER_TRY(const auto file, open_to_read(path));
    DROVER_TRY(const uint64_t size, file->size());
    Progress progress(run.err, "Sending");
    Watched watched(*file, progress);
    return run.client.upload<v1::OperatorSnapshot::Restore>(watched, size);
  };
  if (const Status status = upload(); !status.ok()) return run.fail("Error restoring snapshot", status);
  run.out << "Snapshot Restored\n";
  return 0;
}

}  // namespace

std::vector<Definition> snapshot_commands() {
  return {
      {"operator snapshot save",
       "Saves the state of the cluster into a file.",
       "[<file>]",
       "  Without a name: nomad-state-<date>-<seconds>.snap. The file holds everything that the servers know, secrets\n"
       "  as well; only its owner may read it. It is verified before it takes its name.\n",
       {on_off("stale", "From the asked server as it knows it, also without a leader")},
       0,
       1,
       save},
      {"operator snapshot inspect",
       "Verifies a saved state and shows what it is.",
       "<file>",
       "",
       {on_off("json", "As JSON")},
       1,
       1,
       inspect},
      {"operator snapshot state", "Shows the rows of a saved state as JSON.", "<file>", "", {}, 1, 1, state},
      {"operator snapshot restore",
       "Puts a saved state in the place of the cluster's.",
       "<file>",
       "  Everything that was changed since it was saved is gone: allocations that it does not know are stopped.\n",
       {},
       1,
       1,
       restore}};
}

}  // namespace drover::cli
