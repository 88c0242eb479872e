#include "storage/snapshot_archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "drover/freed.h"
#include "drover/printable.h"
#include "drover/sha256.h"

namespace drover {
namespace {

using nlohmann::json;

constexpr uint32_t kVersion = 1;
constexpr std::string_view kForm = "drover";
constexpr size_t kStep = 64 << 10;
constexpr uint64_t kMostMetaBytes = 1 << 20;
constexpr int64_t kMostFilling = 1 << 20;  // headers and zeros around a member

enum Member : size_t { kMeta, kState, kSums };
constexpr std::array<std::string_view, 3> kNames = {"meta.json", "state.bin", "SHA256SUMS"};

Status damaged(std::string_view what) { return data_loss("snapshot archive: " + std::string(what)); }

std::string meta_text(const ArchiveMeta& meta) {
  json servers = json::array();
  for (const ArchiveServer& server : meta.servers) {
    servers.push_back({{"ID", server.id}, {"Address", server.address}, {"Voter", server.is_voter}});
  }
  const json object = {{"Form", kForm},
                       {"Version", meta.version},
                       {"ID", meta.id},
                       {"Index", meta.index},
                       {"Term", meta.term},
                       {"Size", meta.size},
                       {"CreatedBy", meta.created_by},
                       {"Servers", servers}};
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string sum_line(std::string_view sum, std::string_view name) {
  return to_hex(sum) + "  " + std::string(name) + "\n";
}

uint64_t number_in(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number_unsigned() ? at->get<uint64_t>() : 0;
}
std::string string_in(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

Result<ArchiveMeta> parse_meta(const std::string& text) {
  // Without a callback: deep nesting costs no stack, the parser keeps its own.
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return damaged("its meta.json is not a JSON object");
  if (string_in(object, "Form") != kForm)
    return damaged("it is not a snapshot of drover: its meta.json names another form");
  ArchiveMeta meta{.id = string_in(object, "ID"),
                   .index = number_in(object, "Index"),
                   .term = number_in(object, "Term"),
                   .version = static_cast<uint32_t>(std::min<uint64_t>(number_in(object, "Version"), UINT32_MAX)),
                   .size = number_in(object, "Size"),
                   .created_by = string_in(object, "CreatedBy"),
                   .servers = {}};
  if (meta.version > kVersion) {
    return failed_precondition("snapshot archive: its version is " + std::to_string(meta.version) +
                               ", this drover reads version " + std::to_string(kVersion) + "; use the newer drover");
  }
  if (meta.version == 0 || meta.index == 0 || meta.id.empty())
    return damaged("its meta.json lacks Version, Index or ID");
  if (const auto servers = object.find("Servers"); servers != object.end() && servers->is_array()) {
    for (const json& server : *servers) {
      if (!server.is_object()) return damaged("its meta.json has a server that is no object");
      meta.servers.push_back({.id = string_in(server, "ID"),
                              .address = string_in(server, "Address"),
                              .is_voter = server.value("Voter", json(true)) != json(false)});
    }
  }
  return meta;
}

// A call of libarchive that failed: what the stream behind it said, if it was that.
Status failure_of(archive* archive, const Status& stream) {
  if (!stream.ok()) return stream;
  const char* why = archive_error_string(archive);
  return damaged(why == nullptr ? "it cannot be read" : "it cannot be read: " + printable(why));
}

class Writer {
 public:
  explicit Writer(ByteSink& out) : out_(out), archive_(archive_write_new()) {
    archive_write_add_filter_gzip(archive_.get());
    archive_write_set_format_gnutar(archive_.get());
    // The fastest level: most of it is text, and the disk waits for the processor already. The same state gives the
    // same bytes, so no time stands in it.
    archive_write_set_options(archive_.get(), "gzip:compression-level=1,gzip:!timestamp");
    archive_write_set_bytes_per_block(archive_.get(), kStep);
    archive_write_set_bytes_in_last_block(archive_.get(), 1);
  }

  Status open() { return check(archive_write_open(archive_.get(), this, nullptr, &Writer::take, nullptr)); }

  Status header(Member member, uint64_t size) {
    const std::unique_ptr<archive_entry, Freed<archive_entry_free>> entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), kNames[member].data());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0600);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(size));
    return check(archive_write_header(archive_.get(), entry.get()));
  }

  Status content(std::string_view bytes) {
    return check(static_cast<int>(archive_write_data(archive_.get(), bytes.data(), bytes.size())));
  }

  Status member(Member member, std::string_view text) {
    DROVER_RETURN_IF_ERROR(header(member, text.size()));
    return content(text);
  }

  Status close() { return check(archive_write_close(archive_.get())); }

 private:
  static la_ssize_t take(archive*, void* self, const void* bytes, size_t size) {
    auto& writer = *static_cast<Writer*>(self);
    if (writer.failure_.ok()) writer.failure_ = writer.out_.write({static_cast<const char*>(bytes), size});
    return writer.failure_.ok() ? static_cast<la_ssize_t>(size) : -1;
  }
  Status check(int answer) const { return answer >= 0 ? ok_status() : failure_of(archive_.get(), failure_); }

  ByteSink& out_;
  Status failure_;                          // of the sink
  std::unique_ptr<archive, Freed<archive_free>> archive_;  // the last: its end may call take()
};

class Reader {
 public:
  Reader(ByteSource& in, ByteSink& state, uint64_t most_state_bytes)
      : in_(in), state_(state), most_state_bytes_(most_state_bytes), archive_(archive_read_new()) {
    archive_read_support_filter_gzip(archive_.get());
    archive_read_support_format_tar(archive_.get());
    // To the end of the file, not to that of the tar file in it: nothing may follow.
    archive_read_set_options(archive_.get(), "tar:read_concatenated_archives");
  }

  Result<ArchiveMeta> run() {
    const int opened = archive_read_open(archive_.get(), this, nullptr, &Reader::give, nullptr);
    if (failure_.ok() && archive_filter_code(archive_.get(), 0) != ARCHIVE_FILTER_GZIP)
      return damaged(given_ == 0 ? "it is empty" : "it is not compressed with gzip");
    if (opened != ARCHIVE_OK) return failure_.ok() ? damaged("it is not a tar file") : failure_;
    for (const Member member : {kMeta, kState, kSums}) {
      DROVER_TRY(const uint64_t size, header(member));
      DROVER_RETURN_IF_ERROR(content(member, size));
    }
    DROVER_RETURN_IF_ERROR(end());
    if (text_ != sum_line(sums_[kMeta], kNames[kMeta]) + sum_line(sums_[kState], kNames[kState]))
      return damaged("a sum in SHA256SUMS is not that of its member");
    return std::move(meta_);
  }

 private:
  static la_ssize_t give(archive*, void* self, const void** bytes) {
    auto& reader = *static_cast<Reader*>(self);
    *bytes = reader.buffer_.data();
    const Result<size_t> n = reader.in_.read(reader.buffer_);
    reader.failure_ = n ? reader.filling() : n.status();
    if (!reader.failure_.ok()) return -1;
    reader.given_ += static_cast<int64_t>(*n);
    return static_cast<la_ssize_t>(*n);
  }

  // libarchive skips zeros without an end.
  Status filling() const {
    if (archive_filter_bytes(archive_.get(), 0) <= most_unpacked_) return ok_status();
    return damaged("too many zeros stand between its members or follow them");
  }

  // The header of the member whose turn it is. Returns how long the member is.
  Result<uint64_t> header(Member member) {
    archive_entry* entry = nullptr;
    const int answer = archive_read_next_header(archive_.get(), &entry);
    if (answer == ARCHIVE_EOF) return damaged("it has no member " + std::string(kNames[member]));
    if (answer != ARCHIVE_OK) return failure_of(archive_.get(), failure_);
    const char* path = archive_entry_pathname(entry);
    const std::string_view name = path == nullptr ? "" : path;
    const auto at = static_cast<size_t>(std::ranges::find(kNames, name) - kNames.begin());
    if (at == kNames.size()) return damaged("it has a member \"" + printable(name) + "\" that does not belong there");
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr ||
        archive_entry_sparse_count(entry) > 0)
      return damaged("its member " + std::string(name) + " is not a plain file");
    if (at < member) return damaged("it has the member " + std::string(name) + " twice");
    if (at > member) return damaged("it has no member " + std::string(kNames[member]) + " before " + std::string(name));
    const auto size = static_cast<uint64_t>(archive_entry_size(entry));
    if (member == kState && size != meta_.size) return damaged("its state.bin is not as long as its meta.json says");
    if (member == kState && size > most_state_bytes_) {
      return Status(Code::out_of_range, "snapshot archive: its state has " + std::to_string(size) + " bytes; " +
                                            std::to_string(most_state_bytes_) + " are allowed");
    }
    if (member != kState && size > kMostMetaBytes)
      return damaged("its member " + std::string(kNames[member]) + " is larger than a mebibyte");
    return size;
  }

  Status content(Member member, uint64_t size) {
    Sha256 sum;
    text_.clear();
    most_unpacked_ = archive_filter_bytes(archive_.get(), 0) + static_cast<int64_t>(size) + kMostFilling;
    std::string piece(kStep, '\0');
    for (uint64_t left = size; left > 0;) {
      const la_ssize_t n = archive_read_data(archive_.get(), piece.data(), std::min<uint64_t>(left, kStep));
      if (n <= 0) return failure_of(archive_.get(), failure_);
      const std::string_view bytes(piece.data(), static_cast<size_t>(n));
      left -= bytes.size();
      sum.add(bytes);
      if (member == kState) {
        DROVER_RETURN_IF_ERROR(state_.write(bytes));
      } else {
        text_ += bytes;
      }
    }
    sums_[member] = sum.take();
    if (member != kMeta) return ok_status();
    DROVER_TRY(meta_, parse_meta(text_));
    return ok_status();
  }

  Status end() {
    archive_entry* entry = nullptr;
    const int answer = archive_read_next_header(archive_.get(), &entry);
    if (answer == ARCHIVE_OK) return damaged("it has more than its three members");
    if (answer != ARCHIVE_EOF) return failure_of(archive_.get(), failure_);
    DROVER_RETURN_IF_ERROR(filling());
    DROVER_TRY(const size_t more, in_.read(buffer_));
    if (more == 0 && given_ == archive_filter_bytes(archive_.get(), -1)) return ok_status();
    return damaged("bytes follow the end of its compressed data");
  }

  ByteSource& in_;
  ByteSink& state_;
  const uint64_t most_state_bytes_;
  int64_t most_unpacked_ = kMostFilling;
  int64_t given_ = 0;
  Status failure_;  // of the source
  std::string buffer_ = std::string(kStep, '\0');
  ArchiveMeta meta_;
  std::string text_;  // of the member being read, unless it is the state
  std::array<std::string, 3> sums_;
  std::unique_ptr<archive, Freed<archive_free>> archive_;
};

}  // namespace

Status write_archive(const ArchiveMeta& meta, ByteSource& state, ByteSink& out) {
  Writer writer(out);
  const std::string text = meta_text(meta);
  Sha256 meta_sum, state_sum;
  meta_sum.add(text);
  DROVER_RETURN_IF_ERROR(writer.open());
  DROVER_RETURN_IF_ERROR(writer.member(kMeta, text));
  DROVER_RETURN_IF_ERROR(writer.header(kState, meta.size));
  uint64_t written = 0;
  for (std::string piece(kStep, '\0');;) {
    DROVER_TRY(const size_t n, state.read(piece));
    written += n;
    if (n == 0 || written > meta.size) break;
    const std::string_view bytes = std::string_view(piece).substr(0, n);
    state_sum.add(bytes);
    DROVER_RETURN_IF_ERROR(writer.content(bytes));
  }
  if (written != meta.size) return damaged("the state is not as long as announced");
  DROVER_RETURN_IF_ERROR(
      writer.member(kSums, sum_line(meta_sum.take(), kNames[kMeta]) + sum_line(state_sum.take(), kNames[kState])));
  return writer.close();
}

Result<ArchiveMeta> read_archive(ByteSource& in, ByteSink& state, uint64_t most_state_bytes) {
  return Reader(in, state, most_state_bytes).run();
}

}  // namespace drover
