#include "storage/state_snapshot.h"

#include <algorithm>
#include <utility>

#include "drover/crc32c.h"

namespace drover {
namespace {

constexpr std::string_view kMagic = "DROVSNAP";
constexpr uint32_t kFormat = 1;
constexpr size_t kChunk = 1 << 20;  // a chunk ends with the first row that reaches this; also the reader's step
constexpr char kTable = 'T';
constexpr char kRows = 'R';
constexpr char kEnd = 'E';

template <typename Integer>
void append(std::string& out, Integer value) {
  for (size_t i = 0; i < sizeof value; ++i) out.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
}

template <typename Integer>
Integer decode(const char* from) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(Integer); ++i) value |= uint64_t{static_cast<unsigned char>(from[i])} << (8 * i);
  return static_cast<Integer>(value);
}

// Reads, counting and summing bytes.
class Input {
 public:
  explicit Input(ByteSource& source) : source_(source) {}

  // Appends the next `size` bytes to `out`, in steps, so that a damaged length cannot ask for much memory.
  Status take(size_t size, std::string& out) {
    while (size > 0) {
      const size_t step = std::min(size, kChunk);
      const size_t old = out.size();
      out.resize(old + step);
      for (size_t got = 0; got < step;) {
        DROVER_TRY(const size_t n, source_.read({out.data() + old + got, step - got}));
        if (n == 0) return damaged("it ends too early");
        got += n;
        offset_ += n;
      }
      stream_sum_ = crc32c(std::string_view(out).substr(old), stream_sum_);
      size -= step;
    }
    return ok_status();
  }
  // Checks the checksum that follows `record`.
  Status checksum(std::string_view record) {
    std::string sum;
    DROVER_RETURN_IF_ERROR(take(4, sum));
    if (decode<uint32_t>(sum.data()) == crc32c(record)) return ok_status();
    return damaged("a checksum is wrong");
  }
  Status at_end() {
    char byte = 0;
    DROVER_TRY(const size_t n, source_.read({&byte, 1}));
    return n == 0 ? ok_status() : damaged("bytes follow its end");
  }
  Status damaged(const char* what) const {
    return data_loss(std::string("state snapshot: ") + what + " (at byte " + std::to_string(offset_) + ")");
  }
  uint32_t stream_sum() const { return stream_sum_; }

 private:
  ByteSource& source_;
  uint64_t offset_ = 0;
  uint32_t stream_sum_ = 0;
};

Status read_header(Input& input, SnapshotContent& content, uint32_t& tables) {
  std::string header;
  DROVER_RETURN_IF_ERROR(input.take(kMagic.size(), header));
  if (header != kMagic) return input.damaged("it does not begin like one");
  DROVER_RETURN_IF_ERROR(input.take(16, header));
  DROVER_RETURN_IF_ERROR(input.checksum(header));
  const auto format = decode<uint32_t>(header.data() + 8);
  if (format != kFormat) {
    return failed_precondition("state snapshot: its format is " + std::to_string(format) + ", this build reads " +
                               std::to_string(kFormat));
  }
  content.index = decode<uint64_t>(header.data() + 12);
  tables = decode<uint32_t>(header.data() + 20);
  return ok_status();
}

Status read_table(Input& input, std::string& record, SnapshotTable& table) {
  for (std::string* text : {&table.name, &table.message}) {
    const size_t at = record.size();
    DROVER_RETURN_IF_ERROR(input.take(2, record));
    const auto length = decode<uint16_t>(record.data() + at);
    DROVER_RETURN_IF_ERROR(input.take(length, record));
    *text = record.substr(at + 2);
  }
  const size_t at = record.size();
  DROVER_RETURN_IF_ERROR(input.take(16, record));
  table.rows = decode<uint64_t>(record.data() + at);
  table.last_index = decode<uint64_t>(record.data() + at + 8);
  return input.checksum(record);
}

Status read_rows(Input& input, std::string& record, SnapshotTable& table, SnapshotVisitor& visitor, uint64_t& rows) {
  DROVER_RETURN_IF_ERROR(input.take(4, record));
  DROVER_RETURN_IF_ERROR(input.take(decode<uint32_t>(record.data() + 1), record));
  DROVER_RETURN_IF_ERROR(input.checksum(record));
  std::string_view rest = std::string_view(record).substr(5);
  while (!rest.empty()) {
    if (rest.size() < 4) return input.damaged("a row is cut off");
    const auto length = decode<uint32_t>(rest.data());
    if (rest.size() - 4 < length) return input.damaged("a row is cut off");
    DROVER_RETURN_IF_ERROR(visitor.row(rest.substr(4, length)));
    table.bytes += length;
    ++rows;
    rest.remove_prefix(4 + size_t{length});
  }
  return ok_status();
}

class NoVisitor final : public SnapshotVisitor {
 public:
  Status table(const SnapshotTable&) override { return ok_status(); }
  Status row(std::string_view) override { return ok_status(); }
};

}  // namespace

Status StateSnapshotWriter::raw(std::string_view bytes) {
  stream_sum_ = crc32c(bytes, stream_sum_);
  return sink_.write(bytes);
}

// A record is followed by its checksum.
Status StateSnapshotWriter::record(std::string& bytes) {
  append(bytes, crc32c(bytes));
  return raw(bytes);
}

Status StateSnapshotWriter::begin(uint64_t index, uint32_t tables) {
  std::string header(kMagic);
  append(header, kFormat);
  append(header, index);
  append(header, tables);
  return record(header);
}

Status StateSnapshotWriter::table(const SnapshotTable& table) {
  DROVER_RETURN_IF_ERROR(flush());
  std::string announced(1, kTable);
  for (const std::string& text : {table.name, table.message}) {
    if (text.size() > UINT16_MAX) return invalid_argument("table " + table.name.substr(0, 64) + ": a name is too long");
    append(announced, static_cast<uint16_t>(text.size()));
    announced.append(text);
  }
  append(announced, table.rows);
  append(announced, table.last_index);
  rows_ += table.rows;
  return record(announced);
}

Status StateSnapshotWriter::row(std::string_view bytes) {
  if (!chunk_.empty() && chunk_.size() + 4 + bytes.size() > kChunk) DROVER_RETURN_IF_ERROR(flush());
  if (chunk_.empty()) chunk_.assign(1, kRows).append(4, '\0');  // the length, once it is known
  append(chunk_, static_cast<uint32_t>(bytes.size()));
  chunk_.append(bytes);
  return ok_status();
}

Status StateSnapshotWriter::flush() {
  if (chunk_.empty()) return ok_status();
  std::string length;
  append(length, static_cast<uint32_t>(chunk_.size() - 5));
  chunk_.replace(1, 4, length);
  const Status status = record(chunk_);
  chunk_.clear();
  return status;
}

Status StateSnapshotWriter::finish() {
  DROVER_RETURN_IF_ERROR(flush());
  std::string end(1, kEnd);
  append(end, rows_);
  DROVER_RETURN_IF_ERROR(raw(end));
  end.clear();
  append(end, stream_sum_);
  return raw(end);
}

Result<SnapshotContent> read_state_snapshot(ByteSource& source, SnapshotVisitor& visitor) {
  Input input(source);
  SnapshotContent content;
  uint32_t tables = 0;
  uint64_t rows = 0;        // of the table being read
  uint64_t total_rows = 0;  // of those before it
  DROVER_RETURN_IF_ERROR(read_header(input, content, tables));
  const auto table_complete = [&] { return content.tables.empty() || content.tables.back().rows == rows; };
  std::string record;
  for (;;) {
    record.clear();
    DROVER_RETURN_IF_ERROR(input.take(1, record));
    if (record[0] == kRows && !content.tables.empty()) {
      DROVER_RETURN_IF_ERROR(read_rows(input, record, content.tables.back(), visitor, rows));
      continue;
    }
    if (!table_complete()) return input.damaged("a table has not the number of rows that it announced");
    total_rows += std::exchange(rows, 0);
    if (record[0] == kEnd) break;
    if (record[0] != kTable) return input.damaged("a record has an unknown type");
    SnapshotTable table;
    DROVER_RETURN_IF_ERROR(read_table(input, record, table));
    DROVER_RETURN_IF_ERROR(visitor.table(table));
    content.tables.push_back(std::move(table));
  }
  DROVER_RETURN_IF_ERROR(input.take(8, record));
  const uint32_t sum = input.stream_sum();
  std::string stored;
  DROVER_RETURN_IF_ERROR(input.take(4, stored));
  if (decode<uint32_t>(stored.data()) != sum) return input.damaged("the checksum of the whole is wrong");
  if (decode<uint64_t>(record.data() + 1) != total_rows || content.tables.size() != tables) {
    return input.damaged("it does not hold what it announced");
  }
  DROVER_RETURN_IF_ERROR(input.at_end());
  return content;
}

Result<SnapshotContent> inspect_state_snapshot(ByteSource& source) {
  NoVisitor visitor;
  return read_state_snapshot(source, visitor);
}

}  // namespace drover
