#include "storage/snapshot_archive.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "drover/printable.h"
#include "drover/sha256.h"
#include "storage/gzip_stream.h"

namespace drover {
namespace {

using nlohmann::json;

constexpr uint32_t kVersion = 1;
constexpr std::string_view kForm = "drover";
constexpr size_t kBlock = 512;  // of a tar file
constexpr size_t kStep = 256 << 10;
constexpr uint64_t kMostMetaBytes = 1 << 20;

enum Member : size_t { kMeta, kState, kSums };
constexpr std::array<std::string_view, 3> kNames = {"meta.json", "state.bin", "SHA256SUMS"};

// Where things stand in a member's header (ustar).
struct Field {
  size_t at;
  size_t size;
};
constexpr Field kName = {0, 100}, kMode = {100, 8}, kUser = {108, 8}, kGroup = {116, 8}, kSize = {124, 12},
                kTime = {136, 12}, kSum = {148, 8}, kType = {156, 1}, kMagic = {257, 6}, kPrefix = {345, 155};

Status damaged(std::string_view what) { return data_loss("snapshot archive: " + std::string(what)); }

// --- writing ---------------------------------------------------------------------------------------------------------

void set_octal(std::string& block, Field field, uint64_t value) {
  for (size_t i = field.size - 1; i-- > 0; value >>= 3) block[field.at + i] = static_cast<char>('0' + (value & 7));
}

// Sizes of eight gibibytes and more do not fit into eleven octal digits: big endian then, marked by the first bit.
void set_size(std::string& block, uint64_t size) {
  if (size >> 33 == 0) return set_octal(block, kSize, size);
  for (size_t i = kSize.size; i-- > 1; size >>= 8) block[kSize.at + i] = static_cast<char>(size & 0xff);
  block[kSize.at] = '\x80';
}

uint64_t sum_of(std::string_view block) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const bool is_in_sum = i >= kSum.at && i < kSum.at + kSum.size;
    sum += is_in_sum ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

std::string header_of(std::string_view name, uint64_t size) {
  std::string block(kBlock, '\0');
  name.copy(block.data() + kName.at, kName.size);
  set_octal(block, kMode, 0600);
  set_octal(block, kUser, 0);
  set_octal(block, kGroup, 0);
  set_size(block, size);
  set_octal(block, kTime, 0);  // the same state gives the same member
  block[kType.at] = '0';
  std::string_view("ustar\00000", 8).copy(block.data() + kMagic.at, 8);
  set_octal(block, {kSum.at, kSum.size - 1}, sum_of(block));
  block[kSum.at + 7] = ' ';
  return block;
}

std::string padding(uint64_t size) { return std::string((kBlock - size % kBlock) % kBlock, '\0'); }

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

Status write_member(ByteSink& out, std::string_view name, std::string_view text) {
  DROVER_RETURN_IF_ERROR(out.write(header_of(name, text.size())));
  DROVER_RETURN_IF_ERROR(out.write(text));
  return out.write(padding(text.size()));
}

// --- reading ---------------------------------------------------------------------------------------------------------

uint64_t octal(std::string_view block, Field field, bool& is_good) {
  uint64_t value = 0;
  std::string_view digits = block.substr(field.at, field.size);
  while (digits.starts_with(' ')) digits.remove_prefix(1);
  is_good = !digits.empty();
  for (const char c : digits) {
    if (c == '\0' || c == ' ') break;
    if (c < '0' || c > '7' || value >> 60 != 0) is_good = false;
    value = value << 3 | static_cast<uint64_t>(c - '0');
  }
  return value;
}

uint64_t size_in(std::string_view block, bool& is_good) {
  if (block[kSize.at] != '\x80') return octal(block, kSize, is_good);
  uint64_t value = 0;
  is_good = true;
  for (size_t i = 1; i < kSize.size; ++i) {
    if (value >> 55 != 0) is_good = false;
    value = value << 8 | static_cast<unsigned char>(block[kSize.at + i]);
  }
  return value;
}

std::string_view text_in(std::string_view block, Field field) {
  const std::string_view text = block.substr(field.at, field.size);
  return text.substr(0, text.find('\0'));
}

bool is_zero(std::string_view bytes) { return bytes.find_first_not_of('\0') == std::string_view::npos; }

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

class Reader {
 public:
  Reader(ByteSource& in, ByteSink& state, uint64_t most_state_bytes)
      : in_(in), state_(state), most_state_bytes_(most_state_bytes) {}

  Result<ArchiveMeta> run() {
    for (size_t member = kMeta; member <= kSums; ++member) {
      DROVER_TRY(const uint64_t size, header(member));
      DROVER_RETURN_IF_ERROR(content(member, size));
    }
    DROVER_RETURN_IF_ERROR(end());
    if (text_ != sum_line(sums_[kMeta], kNames[kMeta]) + sum_line(sums_[kState], kNames[kState]))
      return damaged("a sum in SHA256SUMS is not that of its member");
    return std::move(meta_);
  }

 private:
  Status take(std::span<char> out) {
    for (size_t got = 0; got < out.size();) {
      const Result<size_t> n = in_.read(out.subspan(got));
      if (!n) return n.status().code() == Code::data_loss ? damaged(n.status().message()) : n.status();
      if (*n == 0) return damaged("it ends too early");
      got += *n;
    }
    return ok_status();
  }

  // The header of the member whose turn it is. Returns how long the member is.
  Result<uint64_t> header(size_t member) {
    std::string block(kBlock, '\0');
    DROVER_RETURN_IF_ERROR(take(block));
    if (is_zero(block)) return damaged("it has no member " + std::string(kNames[member]));
    bool has_sum = false, has_size = false;
    if (octal(block, kSum, has_sum) != sum_of(block) || !has_sum || !block.substr(kMagic.at).starts_with("ustar"))
      return damaged(member == kMeta ? "it is not a tar file" : "the header of a member is damaged");
    const std::string_view name = text_in(block, kName);
    const auto at = static_cast<size_t>(std::ranges::find(kNames, name) - kNames.begin());
    if (at == kNames.size() || !text_in(block, kPrefix).empty())
      return damaged("it has a member \"" + printable(name) + "\" that does not belong there");
    if (block[kType.at] != '0' && block[kType.at] != '\0')
      return damaged("its member " + std::string(name) + " is not a plain file");
    if (at < member) return damaged("it has the member " + std::string(name) + " twice");
    if (at > member) return damaged("it has no member " + std::string(kNames[member]) + " before " + std::string(name));
    const uint64_t size = size_in(block, has_size);
    if (!has_size) return damaged("its member " + std::string(name) + " has no size");
    return size;
  }

  Status content(size_t member, uint64_t size) {
    if (member == kState && size != meta_.size) return damaged("its state.bin is not as long as its meta.json says");
    if (member == kState && size > most_state_bytes_) {
      return Status(Code::out_of_range, "snapshot archive: its state has " + std::to_string(size) + " bytes; " +
                                            std::to_string(most_state_bytes_) + " are allowed");
    }
    if (member != kState && size > kMostMetaBytes)
      return damaged("its member " + std::string(kNames[member]) + " is larger than a mebibyte");
    Sha256 sum;
    text_.clear();
    std::string piece;
    for (uint64_t left = size; left > 0; left -= piece.size()) {
      piece.resize(std::min<uint64_t>(left, kStep));
      DROVER_RETURN_IF_ERROR(take(piece));
      sum.add(piece);
      if (member == kState) {
        DROVER_RETURN_IF_ERROR(state_.write(piece));
      } else {
        text_ += piece;
      }
    }
    sums_[member] = sum.take();
    std::string rest = padding(size);
    DROVER_RETURN_IF_ERROR(take(rest));
    if (!is_zero(rest)) return damaged("bytes follow its member " + std::string(kNames[member]));
    if (member != kMeta) return ok_status();
    DROVER_TRY(meta_, parse_meta(text_));
    return ok_status();
  }

  // Two blocks of zeros at least, and nothing but zeros to the end.
  Status end() {
    std::string blocks(2 * kBlock, '\0');
    DROVER_RETURN_IF_ERROR(take(blocks));
    const auto more = [] { return damaged("it has more than its three members"); };
    if (!is_zero(blocks)) return more();
    for (std::string rest(kStep, '\0');;) {
      const Result<size_t> n = in_.read(rest);
      if (!n) return n.status().code() == Code::data_loss ? damaged(n.status().message()) : n.status();
      if (*n == 0) return ok_status();
      if (!is_zero(std::string_view(rest).substr(0, *n))) return more();
      filling_ += *n;
      if (filling_ > kMostMetaBytes) return damaged("too many zeros follow its end");
    }
  }

  ByteSource& in_;
  ByteSink& state_;
  const uint64_t most_state_bytes_;
  ArchiveMeta meta_;
  std::string text_;  // of the member being read, unless it is the state
  std::array<std::string, 3> sums_;
  uint64_t filling_ = 0;
};

}  // namespace

Status write_archive(const ArchiveMeta& meta, ByteSource& state, ByteSink& out) {
  GzipSink gzip(out);
  const std::string text = meta_text(meta);
  Sha256 meta_sum, state_sum;
  meta_sum.add(text);
  DROVER_RETURN_IF_ERROR(write_member(gzip, kNames[kMeta], text));
  DROVER_RETURN_IF_ERROR(gzip.write(header_of(kNames[kState], meta.size)));
  uint64_t written = 0;
  for (std::string piece(kStep, '\0');;) {
    DROVER_TRY(const size_t n, state.read(piece));
    if (n == 0) break;
    const std::string_view bytes = std::string_view(piece).substr(0, n);
    written += n;
    state_sum.add(bytes);
    DROVER_RETURN_IF_ERROR(gzip.write(bytes));
  }
  if (written != meta.size) return damaged("the state is not as long as announced");
  DROVER_RETURN_IF_ERROR(gzip.write(padding(meta.size)));
  const std::string sums = sum_line(meta_sum.take(), kNames[kMeta]) + sum_line(state_sum.take(), kNames[kState]);
  DROVER_RETURN_IF_ERROR(write_member(gzip, kNames[kSums], sums));
  DROVER_RETURN_IF_ERROR(gzip.write(std::string(2 * kBlock, '\0')));
  return gzip.finish();
}

Result<ArchiveMeta> read_archive(ByteSource& in, ByteSink& state, uint64_t most_state_bytes) {
  GunzipSource gzip(in);
  return Reader(gzip, state, most_state_bytes).run();
}

}  // namespace drover
