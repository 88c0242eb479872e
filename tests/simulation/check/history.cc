#include "tests/simulation/check/history.h"

#include <algorithm>
#include <charconv>
#include <istream>
#include <map>
#include <optional>
#include <ostream>
#include <sstream>

namespace drover::simulation {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

// One word: empty text is "", everything that could end or confuse a word is %xx.
std::string encode(std::string_view text) {
  if (text.empty()) return "\"\"";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 127 && c != '%' && c != '"' && c != '#') {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

std::optional<std::string> decode(std::string_view word) {
  if (word == "\"\"") return std::string();
  std::string out;
  for (size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      out += word[i];
      continue;
    }
    if (i + 2 >= word.size()) return std::nullopt;
    const size_t high = kHex.find(word[i + 1]);
    const size_t low = kHex.find(word[i + 2]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::optional<int64_t> number(std::string_view word) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 0) return std::nullopt;
  return value;
}

// Reads lines; remembers which operation each client has open.
class Reader {
 public:
  Status line(const std::vector<std::string>& words);
  History finish() {
    std::erase_if(history_, [](const Operation& operation) { return operation.client < 0; });
    return std::move(history_);
  }

 private:
  Status invoke(int client, int64_t time, const std::vector<std::string>& words);
  Status complete(Operation& operation, int64_t time, const std::vector<std::string>& words);

  History history_;
  std::map<int64_t, size_t> open_;  // by client
  int64_t last_time_ = 0;
};

Status Reader::line(const std::vector<std::string>& words) {
  if (words.size() < 3) return invalid_argument("expected: TIME CLIENT EVENT …");
  const auto time = number(words[0]);
  if (!time) return invalid_argument("the time is not a number: " + words[0]);
  const auto client = number(words[1]);
  if (!client || *client > std::numeric_limits<int>::max())
    return invalid_argument("the client is not a number: " + words[1]);
  if (*time < last_time_) return invalid_argument("time goes back from " + std::to_string(last_time_));
  last_time_ = *time;
  const auto found = open_.find(*client);
  if (words[2] == "invoke") {
    if (found != open_.end()) return invalid_argument("client " + words[1] + " has an operation open");
    open_.emplace(*client, history_.size());
    return invoke(static_cast<int>(*client), *time, words);
  }
  if (found == open_.end()) return invalid_argument("client " + words[1] + " has no operation open");
  Operation& operation = history_[found->second];
  open_.erase(found);
  return complete(operation, *time, words);
}

Status Reader::invoke(int client, int64_t time, const std::vector<std::string>& words) {
  static const std::map<std::string, std::pair<Kind, size_t>, std::less<>> kKinds = {
      {"put", {Kind::put, 6}}, {"cas", {Kind::cas, 7}}, {"append", {Kind::append, 6}}, {"read", {Kind::read, 5}}};
  const auto kind = words.size() > 3 ? kKinds.find(words[3]) : kKinds.end();
  if (kind == kKinds.end()) return invalid_argument("expected: invoke put|cas|append|read …");
  if (words.size() != kind->second.second) return invalid_argument("wrong number of words for " + words[3]);
  std::vector<std::string> texts(3);
  for (size_t i = 4; i < words.size(); ++i) {
    const auto text = decode(words[i]);
    if (!text) return invalid_argument("not a well-formed word: " + words[i]);
    texts[i - 4] = *text;
  }
  history_.push_back({.client = client,
                      .kind = kind->second.first,
                      .key = texts[0],
                      .first = texts[1],
                      .second = texts[2],
                      .invoked = time});
  return ok_status();
}

Status Reader::complete(Operation& operation, int64_t time, const std::vector<std::string>& words) {
  const std::string& event = words[2];
  if (event == "unknown" && words.size() == 3) return ok_status();
  if (event == "fail" && words.size() == 3) {
    operation.client = -1;  // never happened
    return ok_status();
  }
  if (event != "ok") return invalid_argument("expected: invoke, ok, fail or unknown, not " + event);
  const bool has_value = operation.kind == Kind::read || operation.kind == Kind::cas;
  if (words.size() != (has_value ? 5u : 4u))
    return invalid_argument("expected: ok INDEX" + std::string(has_value ? " VALUE" : ""));
  const auto index = number(words[3]);
  if (!index) return invalid_argument("the index is not a number: " + words[3]);
  operation.index = static_cast<uint64_t>(*index);
  operation.returned = time;
  if (!has_value) return ok_status();
  const auto value = decode(words[4]);
  if (!value) return invalid_argument("not a well-formed word: " + words[4]);
  if (operation.kind == Kind::read) {
    operation.value = *value;
    return ok_status();
  }
  if (*value != "true" && *value != "false") return invalid_argument("a cas answers true or false, not " + *value);
  operation.did_match = *value == "true";
  return ok_status();
}

std::string call(const Operation& operation) {
  std::string text = std::string(to_string(operation.kind)) + " " + encode(operation.key);
  if (operation.kind != Kind::read) text += " " + encode(operation.first);
  if (operation.kind == Kind::cas) text += " " + encode(operation.second);
  return text;
}

std::string answer(const Operation& operation) {
  std::string text = "ok " + std::to_string(operation.index);
  if (operation.kind == Kind::read) text += " " + encode(operation.value);
  if (operation.kind == Kind::cas) text += operation.did_match ? " true" : " false";
  return text;
}

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::put:
      return "put";
    case Kind::cas:
      return "cas";
    case Kind::append:
      return "append";
    case Kind::read:
      return "read";
  }
  return "?";
}

std::string describe(const Operation& operation) {
  std::string text = "client " + std::to_string(operation.client) + ", " + std::to_string(operation.invoked) + " to ";
  text += operation.is_open() ? "the end" : std::to_string(operation.returned);
  return text + ": " + call(operation) + " -> " + (operation.is_open() ? "unknown" : answer(operation));
}

Result<History> read_history(std::istream& in) {
  Reader reader;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::istringstream text(line.substr(0, line.find('#')));
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    if (words.empty()) continue;
    DROVER_RETURN_IF_ERROR(reader.line(words).with_context("line " + std::to_string(number)));
  }
  return reader.finish();
}

void write_history(const History& history, std::ostream& out) {
  struct Event {
    int64_t time;
    bool is_call;
    const Operation* operation;
  };
  std::vector<Event> events;
  for (const Operation& operation : history) {
    events.push_back({operation.invoked, true, &operation});
    if (!operation.is_open()) events.push_back({operation.returned, false, &operation});
  }
  std::ranges::stable_sort(events, {}, &Event::time);
  // A client whose operation stayed open goes on under another number: one open operation each.
  std::map<int, int> names;
  std::map<const Operation*, int> speaker;
  int next = 0;
  for (const Operation& operation : history) next = std::max(next, operation.client + 1);
  for (const Event& event : events) {
    const Operation& operation = *event.operation;
    if (event.is_call) speaker[&operation] = names.try_emplace(operation.client, operation.client).first->second;
    out << event.time << " " << speaker[&operation] << " "
        << (event.is_call ? "invoke " + call(operation) : answer(operation)) << "\n";
    if (event.is_call && operation.is_open()) names[operation.client] = next++;
  }
}

}  // namespace drover::simulation
