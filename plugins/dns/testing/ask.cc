// Asks a server of the DNS one question and prints the answer, for tests: there is no `dig` where they run.
//
//   dns_ask [-tcp] [-edns BYTES] [-hex BYTES] IP PORT NAME [TYPE]
//
// First line: the code, and "aa", "tc", "ra" where set; then a line for each record of the answers, with "authority" or
// "additional" in front of those beside them. Ends with 1 where nobody answers within three seconds. -hex sends these
// bytes instead of a question.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "wire/message.h"

namespace drover::dns {
namespace {

const std::map<std::string, uint16_t>& types() {
  static const std::map<std::string, uint16_t> all{
      {"A", type::kA},     {"NS", type::kNs},   {"CNAME", type::kCname}, {"SOA", type::kSoa},   {"MX", 15},
      {"TXT", 16},         {"AAAA", type::kAaaa}, {"SRV", type::kSrv},   {"AXFR", type::kAxfr}, {"ANY", type::kAny}};
  return all;
}

std::string text_of(uint16_t number) {
  for (const auto& [name, each] : types()) {
    if (each == number) return name;
  }
  return std::to_string(number);
}

struct Text {
  std::string operator()(const std::string& bytes) const { return std::to_string(bytes.size()) + " bytes"; }
  std::string operator()(const Address& address) const { return to_string(address); }
  std::string operator()(const Target& target) const { return to_string(target.name); }
  std::string operator()(const Location& at) const {
    return std::to_string(at.priority) + " " + std::to_string(at.weight) + " " + std::to_string(at.port) + " " +
           to_string(at.target);
  }
  std::string operator()(const Authority& authority) const {
    return to_string(authority.server) + " " + std::to_string(authority.minimum);
  }
};

void print(const char* before, const std::vector<Record>& records) {
  for (const Record& record : records) {
    std::printf("%s%s %u %s %s\n", before, to_string(record.owner).c_str(), record.ttl, text_of(record.type).c_str(),
                std::visit(Text{}, record.data).c_str());
  }
}

// Empty: nobody answered.
std::string ask(const std::string& ip, uint16_t port, const std::string& question, bool over_tcp) {
  const bool is_v6 = ip.find(':') != std::string::npos;
  const int fd = ::socket(is_v6 ? AF_INET6 : AF_INET, over_tcp ? SOCK_STREAM : SOCK_DGRAM, 0);
  const timeval patience{.tv_sec = 3, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in6 six{};
  sockaddr_in four{};
  six.sin6_family = AF_INET6;
  four.sin_family = AF_INET;
  six.sin6_port = four.sin_port = htons(port);
  ::inet_pton(AF_INET6, ip.c_str(), &six.sin6_addr);
  ::inet_pton(AF_INET, ip.c_str(), &four.sin_addr);
  const auto* to = is_v6 ? reinterpret_cast<sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four);
  std::string sent = question, answer(65537, '\0');
  if (over_tcp) sent = std::string{static_cast<char>(question.size() >> 8), static_cast<char>(question.size())} + sent;
  size_t got = 0;
  if (::connect(fd, to, is_v6 ? sizeof six : sizeof four) == 0 &&
      ::send(fd, sent.data(), sent.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(sent.size())) {
    const auto whole = [&] {
      const auto byte = [&](size_t at) { return static_cast<size_t>(static_cast<uint8_t>(answer[at])); };
      return got >= 2 && got - 2 == (byte(0) << 8 | byte(1));
    };
    do {
      const ssize_t more = ::recv(fd, answer.data() + got, answer.size() - got, 0);
      if (more <= 0) break;
      got += static_cast<size_t>(more);
    } while (over_tcp && !whole());
  }
  ::close(fd);
  answer.resize(got);
  return over_tcp ? answer.substr(std::min<size_t>(got, 2)) : answer;
}

std::string from_hex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::strtoul(std::string(hex.substr(i, 2)).c_str(), nullptr, 16));
  return out;
}

int run(int argc, char** argv) {
  Message query;
  query.id = 4711;
  query.recursion_desired = true;
  std::string raw;
  bool over_tcp = false;
  int at = 1;
  for (; at < argc && argv[at][0] == '-'; ++at) {
    if (std::strcmp(argv[at], "-tcp") == 0) {
      over_tcp = true;
    } else if (at + 1 < argc && std::strcmp(argv[at], "-edns") == 0) {
      query.edns = Edns{.payload = static_cast<uint16_t>(std::atoi(argv[++at]))};
    } else if (at + 1 < argc && std::strcmp(argv[at], "-hex") == 0) {
      raw = from_hex(argv[++at]);
    } else {
      return 2;
    }
  }
  if (argc - at < (raw.empty() ? 3 : 2)) return 2;
  if (raw.empty()) {
    const auto name = parse_name(argv[at + 2]);
    const auto type = types().find(argc - at > 3 ? argv[at + 3] : "A");
    if (!name || type == types().end()) return 2;
    query.questions = {{.name = *name, .type = type->second}};
    raw = write_message(query, 512);
  }
  const std::string bytes = ask(argv[at], static_cast<uint16_t>(std::atoi(argv[at + 1])), raw, over_tcp);
  if (bytes.empty()) {
    std::printf("no answer\n");
    return 1;
  }
  const auto answer = read_message(bytes);
  if (!answer) {
    std::printf("no message: %zu bytes\n", bytes.size());
    return 1;
  }
  std::printf("%s%s%s%s\n", std::string(to_string(answer->code)).c_str(), answer->is_authoritative ? " aa" : "",
              answer->is_truncated ? " tc" : "", answer->recursion_available ? " ra" : "");
  print("", answer->answers);
  print("authority ", answer->authorities);
  print("additional ", answer->additionals);
  return 0;
}

}  // namespace
}  // namespace drover::dns

int main(int argc, char** argv) { return drover::dns::run(argc, argv); }
