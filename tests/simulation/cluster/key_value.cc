#include "tests/simulation/cluster/key_value.h"

#include "storage/segment_format.h"
#include "tests/simulation/world/random.h"

namespace drover::simulation {
namespace {

void add_number(std::string& out, uint64_t value) {
  char bytes[8];
  raft::put<uint64_t>(bytes, value);
  out.append(bytes, sizeof bytes);
}

void add_text(std::string& out, std::string_view text) {
  add_number(out, text.size());
  out += text;
}

// Takes values from the front of what encode wrote; anything else is a bug of the simulator or damage that checksums
// should have caught.
class Parser {
 public:
  explicit Parser(std::string_view bytes) : rest_(bytes) {}

  uint64_t number() {
    DROVER_CHECK(rest_.size() >= 8);
    const auto value = raft::get<uint64_t>(rest_.data());
    rest_.remove_prefix(8);
    return value;
  }
  std::string text() {
    const uint64_t size = number();
    DROVER_CHECK(rest_.size() >= size);
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  bool is_done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

class KeyValue::Frozen final : public raft::SnapshotSource {
 public:
  Frozen(raft::Index index, State state) : index_(index), state_(std::move(state)) {}

  raft::Index index() override { return index_; }
  Status write(raft::ByteSink& sink) override {
    std::string bytes;
    add_number(bytes, index_);
    add_number(bytes, state_.values.size());
    for (const auto& [key, value] : state_.values) {
      add_text(bytes, key);
      add_text(bytes, value);
    }
    for (const auto& [client, session] : state_.sessions) {
      add_number(bytes, client);
      add_number(bytes, session.number);
      add_text(bytes, session.answer);
    }
    return sink.write(bytes);
  }

 private:
  const raft::Index index_;
  const State state_;
};

std::string encode_command(const Request& request) {
  std::string out;
  add_number(out, static_cast<uint64_t>(request.client));
  add_number(out, request.number);
  add_number(out, static_cast<uint64_t>(request.attempt));
  add_number(out, static_cast<uint64_t>(request.kind));
  add_text(out, request.key);
  add_text(out, request.first);
  add_text(out, request.second);
  return out;
}

Request request_of(std::string_view command) {
  Parser parser(command);
  Request request{.client = static_cast<int>(parser.number())};
  request.number = parser.number();
  request.attempt = static_cast<int>(parser.number());
  return request;
}

void KeyValue::apply(std::span<const raft::Entry> entries, std::vector<Result<std::string>>& answers) {
  for (const raft::Entry& entry : entries) {
    DROVER_CHECK(entry.index == index_ + 1);
    index_ = entry.index;
    answers.push_back(entry.type == raft::EntryType::command ? execute(entry.bytes()) : std::string());
  }
}

std::string KeyValue::execute(std::string_view command) {
  Parser parser(command);
  const auto client = static_cast<uint32_t>(parser.number());
  const uint64_t number = parser.number();
  (void)parser.number();  // which attempt it is changes nothing
  const auto kind = static_cast<Kind>(parser.number());
  Session& session = state_.sessions[client];
  if (number == session.number) return session.answer;
  if (number < session.number) return "stale";
  const std::string key = parser.text();
  const std::string first = parser.text();
  std::string& value = state_.values[key];
  session = {number, "ok"};
  if (kind == Kind::put) value = first;
  if (kind == Kind::append) value += first;
  if (kind == Kind::cas) {
    session.answer = value == first ? "true" : "false";
    if (value == first) value = parser.text();
  }
  return session.answer;
}

std::unique_ptr<raft::SnapshotSource> KeyValue::snapshot() { return std::make_unique<Frozen>(index_, state_); }

Status KeyValue::restore(raft::ByteSource& source) {
  std::string bytes;
  char buffer[4096];
  while (true) {
    DROVER_TRY(const size_t n, source.read(buffer));
    if (n == 0) break;
    bytes.append(buffer, n);
  }
  Parser parser(bytes);
  State state;
  const raft::Index index = parser.number();
  for (uint64_t keys = parser.number(); keys > 0; --keys) {
    std::string key = parser.text();
    state.values[std::move(key)] = parser.text();
  }
  while (!parser.is_done()) {
    Session& session = state.sessions[static_cast<uint32_t>(parser.number())];
    session.number = parser.number();
    session.answer = parser.text();
  }
  index_ = index;
  state_ = std::move(state);
  return ok_status();
}

const std::string& KeyValue::read(const std::string& key) const {
  static const std::string kEmpty;
  const auto found = state_.values.find(key);
  return found == state_.values.end() ? kEmpty : found->second;
}

uint64_t KeyValue::hash() const {
  uint64_t hash = 0;
  for (const auto& [key, value] : state_.values) hash = hash_text(value, hash_text(key, hash));
  for (const auto& [client, session] : state_.sessions)
    hash = hash_text(session.answer, scatter(hash ^ client ^ session.number << 8));
  return hash;
}

}  // namespace drover::simulation
