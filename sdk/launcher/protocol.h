// The messages between an agent and its launcher over their socket.
//
// A frame is four bytes of length (little endian, of what follows), one byte of kind, eight bytes of request number and
// the fields of the kind: numbers in eight bytes, texts and lists with their length in front. A reply carries the
// number of its request; an event carries zero. Both sides are of one machine; a launcher outlives the build that
// started it, so kinds and fields only grow and `hello` tells the version.
//
// Pure; no dependency beyond the standard library.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/confinement.h"

namespace drover::launcher {

inline constexpr uint64_t kVersion = 1;
inline constexpr size_t kLargestFrame = size_t{8} << 20;  // above the kernel's limit on arguments and environment
inline constexpr size_t kLengthBytes = 4;
inline constexpr const char* kSocketName = "launcher.sock";
inline constexpr const char* kLockName = "launcher.lock";
inline constexpr const char* kLogName = "launcher.log";
inline constexpr int kListenFd = 3;  // where the launcher finds its listening socket

enum class Kind : uint8_t {
  hello = 1,    // version                        → hello_reply: version, pid
  start = 2,    // StartRequest                   → started: pid, start time
  list = 3,     //                                → tasks: count, then TaskRecord
  signal = 4,   // task, signal, whole group      → done
  forget = 5,   // task                           → done; an unknown task is done too
  hold = 6,     // name, list of FIFOs            → done; they stay open until they are released
  release = 7,  // name                           → done; an unknown one is done too
  exec = 8,     // StartRequest, ExecStreams      → started; a task that goes with its client, and is forgotten then
  start_within = 9,     // network namespace, then as `start`
  exec_within = 10,     // network namespace, then as `exec`
  start_confined = 11,  // Confinement (confinement_codec.h), then as `start_within`
  exec_confined = 12,   // Confinement, then as `exec_within`
  hello_reply = 64,
  started = 65,
  tasks = 66,
  done = 67,
  failed = 68,  // errno, text
  exited = 69,  // event: TaskRecord
};

class Writer {
 public:
  Writer(Kind kind, uint64_t request) {
    bytes_.assign(kLengthBytes, '\0');
    bytes_.push_back(static_cast<char>(kind));
    number(request);
  }
  void number(uint64_t value) {
    for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  void list(const std::vector<std::string>& values) {
    number(values.size());
    for (const std::string& value : values) text(value);
  }
  std::string finish() {
    const size_t length = bytes_.size() - kLengthBytes;
    for (size_t i = 0; i < kLengthBytes; ++i) bytes_[i] = static_cast<char>(length >> (8 * i));
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
};

// Reads the fields of one frame; a missing field reads as zero or empty and makes ok() false.
class Reader {
 public:
  explicit Reader(std::string_view frame) : rest_(frame) {
    if (rest_.empty()) {
      ok_ = false;
      return;
    }
    kind_ = static_cast<Kind>(rest_.front());
    rest_.remove_prefix(1);
    request_ = number();
  }
  Kind kind() const { return kind_; }
  uint64_t request() const { return request_; }
  bool ok() const { return ok_; }

  uint64_t number() {
    if (rest_.size() < 8) {
      fail();
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < 8; ++i) value |= uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    rest_.remove_prefix(8);
    return value;
  }
  std::string text() {
    const uint64_t size = number();
    if (size > rest_.size()) {
      fail();
      return {};
    }
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }
  std::vector<std::string> list() {
    std::vector<std::string> values;
    const uint64_t count = number();
    for (uint64_t i = 0; i < count && ok_; ++i) values.push_back(text());
    return values;
  }

 private:
  void fail() {
    ok_ = false;
    rest_ = {};
  }
  std::string_view rest_;
  Kind kind_ = Kind::failed;
  uint64_t request_ = 0;
  bool ok_ = true;
};

// Takes whole frames off the front of a stream's bytes.
enum class Take : uint8_t { frame, more, broken };
inline Take take_frame(std::string& bytes, std::string& frame) {
  if (bytes.size() < kLengthBytes) return Take::more;
  size_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= size_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  if (length > kLargestFrame) return Take::broken;
  if (bytes.size() - kLengthBytes < length) return Take::more;
  frame = bytes.substr(kLengthBytes, length);
  bytes.erase(0, kLengthBytes + length);
  return Take::frame;
}

struct StartRequest {
  std::string id;
  std::vector<std::string> arguments;    // the program's path, then what it sees as argv from the first on
  std::vector<std::string> environment;  // "NAME=value"
  std::string directory;
  std::string stdout_path, stderr_path;  // empty: /dev/null
  bool changes_user = false;
  uint64_t user = 0, group = 0;
  std::vector<uint64_t> groups;
  std::vector<std::string> cgroup_files;   // cgroup.procs of every cgroup to join
  std::string network_namespace;           // empty: the launcher's. Not of the fields: the kinds …_within carry it
  std::optional<Confinement> confinement;  // absent: none. Not of the fields: the kinds …_confined carry it

  void write(Writer& out) const {
    out.text(id);
    out.list(arguments);
    out.list(environment);
    out.text(directory);
    out.text(stdout_path);
    out.text(stderr_path);
    out.number(changes_user ? 1 : 0);
    out.number(user);
    out.number(group);
    out.number(groups.size());
    for (uint64_t g : groups) out.number(g);
    out.list(cgroup_files);
  }
  static StartRequest read(Reader& in) {
    StartRequest r;
    r.id = in.text();
    r.arguments = in.list();
    r.environment = in.list();
    r.directory = in.text();
    r.stdout_path = in.text();
    r.stderr_path = in.text();
    r.changes_user = in.number() != 0;
    r.user = in.number();
    r.group = in.number();
    const uint64_t count = in.number();
    for (uint64_t i = 0; i < count && in.ok(); ++i) r.groups.push_back(in.number());
    r.cgroup_files = in.list();
    return r;
  }
};

// The streams of a command of `exec`: three FIFOs, or the slave of a pseudo-terminal.
struct ExecStreams {
  std::string input, output, error;
  std::string terminal;  // empty: the three

  void write(Writer& out) const {
    out.text(input);
    out.text(output);
    out.text(error);
    out.text(terminal);
  }
  static ExecStreams read(Reader& in) {
    ExecStreams s;
    s.input = in.text();
    s.output = in.text();
    s.error = in.text();
    s.terminal = in.text();
    return s;
  }
};

struct TaskRecord {
  std::string id;
  int pid = 0;
  uint64_t start_time = 0;  // of the process, in the kernel's ticks since boot: with the pid it names one process
  int64_t started_at = 0;   // nanoseconds since 1970
  bool has_exited = false;
  int exit_code = 0;  // of an exit by itself
  int signal = 0;     // that ended it, or zero
  int64_t exited_at = 0;

  void write(Writer& out) const {
    out.text(id);
    out.number(static_cast<uint64_t>(pid));
    out.number(start_time);
    out.number(static_cast<uint64_t>(started_at));
    out.number(has_exited ? 1 : 0);
    out.number(static_cast<uint64_t>(exit_code));
    out.number(static_cast<uint64_t>(signal));
    out.number(static_cast<uint64_t>(exited_at));
  }
  static TaskRecord read(Reader& in) {
    TaskRecord r;
    r.id = in.text();
    r.pid = static_cast<int>(in.number());
    r.start_time = in.number();
    r.started_at = static_cast<int64_t>(in.number());
    r.has_exited = in.number() != 0;
    r.exit_code = static_cast<int>(in.number());
    r.signal = static_cast<int>(in.number());
    r.exited_at = static_cast<int64_t>(in.number());
    return r;
  }
};

}  // namespace drover::launcher
