// Stands in for qemu-system-x86_64: tells a version, writes its arguments to the file "words" in its folder, listens on
// its monitor and ends when it is told to power down. Of its own arguments after -fake: "exit N", "talk", or "deaf" to
// what the monitor says.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace {

using Words = std::vector<std::string>;

std::string after(const Words& words, const std::string& option) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == option) return words[i + 1];
  }
  return {};
}

int listen_at(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", path.c_str());
  ::unlink(path.c_str());
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(fd, 1) != 0)
    std::exit(3);
  return fd;
}

bool is_told_to_power_down(int listening) {
  const int fd = ::accept(listening, nullptr, nullptr);
  const std::string prompt = "QEMU 7.2.22 monitor\r\n(qemu) ";
  (void)!::write(fd, prompt.data(), prompt.size());
  std::string said;
  char byte = 0;
  while (::read(fd, &byte, 1) == 1 && byte != '\n') said += byte;
  (void)!::write(fd, "(qemu) ", 7);
  ::close(fd);
  return said == "system_powerdown";
}

[[noreturn]] void monitor(const std::string& option, bool is_deaf) {
  const std::string path = option.substr(std::strlen("unix:"));
  const int fd = listen_at(path.substr(0, path.find(",server")));
  std::cout << "up" << std::endl;
  while (!is_told_to_power_down(fd) || is_deaf) {
  }
  std::cout << "powered down" << std::endl;
  std::exit(0);
}

}  // namespace

int main(int count, char** arguments) {
  const Words words(arguments + 1, arguments + count);
  if (words == Words{"--version"}) {
    std::cout << "QEMU emulator version 7.2.22 (Debian 1:7.2)\n";
    return 0;
  }
  {
    std::ofstream file("words");
    for (const std::string& word : words) file << word << "\n";
  }
  const std::string fake = after(words, "-fake");
  if (fake.starts_with("exit ")) return std::atoi(fake.c_str() + 5);
  if (fake == "talk") {
    std::cout << "this is out" << std::endl;
    std::cerr << "this is err" << std::endl;
    while (true) {
      std::cout << "more" << std::endl;
      ::usleep(20'000);
    }
  }
  const std::string option = after(words, "-monitor");
  if (!option.empty()) monitor(option, fake == "deaf");
  while (true) ::pause();
}
