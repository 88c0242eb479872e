#include "testing/java_files.h"

#include <vector>

namespace drover::java {
namespace {

std::string big(uint32_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}
std::string little(uint32_t value, int bytes) {
  const std::string other = big(value, bytes);
  return {other.rbegin(), other.rend()};
}

// The constants of a class; each call returns the number of the new one.
class Constants {
 public:
  uint32_t text(const std::string& value) {
    return add(big(1, 1) + big(static_cast<uint32_t>(value.size()), 2) + value);
  }
  uint32_t class_of(const std::string& name) { return add(big(7, 1) + big(text(name), 2)); }
  uint32_t field(const std::string& owner, const std::string& name, const std::string& type) {
    return member(9, owner, name, type);
  }
  uint32_t method(const std::string& owner, const std::string& name, const std::string& type) {
    return member(10, owner, name, type);
  }
  uint32_t long_of(uint32_t value) {
    const uint32_t number = add(big(5, 1) + big(0, 4) + big(value, 4));
    ++count_;  // it takes two places
    return number;
  }
  std::string bytes() const { return big(count_ + 1, 2) + bytes_; }

 private:
  uint32_t add(const std::string& constant) {
    bytes_ += constant;
    return ++count_;
  }
  uint32_t member(uint32_t tag, const std::string& owner, const std::string& name, const std::string& type) {
    const uint32_t of = class_of(owner), called = text(name), typed = text(type);
    const uint32_t both = add(big(12, 1) + big(called, 2) + big(typed, 2));
    return add(big(tag, 1) + big(of, 2) + big(both, 2));
  }

  std::string bytes_;
  uint32_t count_ = 0;
};

std::string with_length(const std::string& bytes) { return big(static_cast<uint32_t>(bytes.size()), 4) + bytes; }

// The checksum of ZIP.
uint32_t checksum(const std::string& bytes) {
  uint32_t sum = 0xffffffff;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum;
}

struct Entry {
  std::string name, content;
  uint32_t offset = 0;

  // The header in front of it and the one in the directory share this.
  std::string header() const {
    const auto size = static_cast<uint32_t>(content.size());
    return little(10, 2) + little(0, 2) + little(0, 2) + little(0, 2) + little(0x21, 2) + little(checksum(content), 4) +
           little(size, 4) + little(size, 4) + little(static_cast<uint32_t>(name.size()), 2) + little(0, 2);
  }
};

}  // namespace

std::string printing_class(const std::string& name, uint32_t sleep_ms) {
  Constants constants;
  const uint32_t own = constants.class_of(name), parent = constants.class_of("java/lang/Object"),
                 main = constants.text("main"), type = constants.text("([Ljava/lang/String;)V"),
                 code = constants.text("Code"),
                 out = constants.field("java/lang/System", "out", "Ljava/io/PrintStream;"),
                 print = constants.method("java/io/PrintStream", "println", "(Ljava/lang/String;)V"),
                 sleep = constants.method("java/lang/Thread", "sleep", "(J)V"), time = constants.long_of(sleep_ms);
  // getstatic out, aload_0, iconst_0, aaload, invokevirtual print; ldc2_w time, invokestatic sleep, return
  std::string body = "\xb2" + big(out, 2) + "\x2a\x03\x32\xb6" + big(print, 2);
  if (sleep_ms != 0) body += "\x14" + big(time, 2) + "\xb8" + big(sleep, 2);
  body += "\xb1";
  const std::string method = big(0x0009, 2) + big(main, 2) + big(type, 2) + big(1, 2) + big(code, 2) +
                             with_length(big(3, 2) + big(1, 2) + with_length(body) + big(0, 2) + big(0, 2));
  return big(0xcafebabe, 4) + big(0, 2) + big(50, 2) + constants.bytes() + big(0x0021, 2) + big(own, 2) +
         big(parent, 2) + big(0, 2) + big(0, 2) + big(1, 2) + method + big(0, 2);
}

std::string jar_of(const std::string& name, const std::string& class_file) {
  std::vector<Entry> entries = {
      {"META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\nMain-Class: " + name + "\r\n\r\n", 0},
      {name + ".class", class_file, 0}};
  std::string jar, directory;
  for (Entry& entry : entries) {
    entry.offset = static_cast<uint32_t>(jar.size());
    jar += "PK\x03\x04" + entry.header() + entry.name + entry.content;
    directory += "PK\x01\x02" + little(10, 2) + entry.header() + little(0, 2) + little(0, 2) + little(0, 2) +
                 little(0, 4) + little(entry.offset, 4) + entry.name;
  }
  const auto count = static_cast<uint32_t>(entries.size());
  return jar + directory + "PK\x05\x06" + little(0, 4) + little(count, 2) + little(count, 2) +
         little(static_cast<uint32_t>(directory.size()), 4) + little(static_cast<uint32_t>(jar.size()), 4) +
         little(0, 2);
}

}  // namespace drover::java
