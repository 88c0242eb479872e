// A Consul for scripts.
//
//   fake_consul serve FILE                    writes its URL into the file and serves until it is killed
//   fake_consul call URL METHOD PATH [BODY]   prints the answer; see fake_consul.h for /control
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>

#include "testing/fake_consul.h"

namespace {

int serve(const std::string& file) {
  const drover::consul::testing::FakeConsul consul;
  const std::string unfinished = file + ".new";
  std::ofstream(unfinished) << consul.url() << "\n";
  std::rename(unfinished.c_str(), file.c_str());
  for (;;) ::pause();
}

}  // namespace

int main(int count, char** words) {
  const std::string command = count > 1 ? words[1] : "";
  if (command == "serve" && count == 3) return serve(words[2]);
  if (command == "call" && (count == 5 || count == 6)) {
    const auto answer = drover::consul::testing::call(words[2], words[3], words[4], count == 6 ? words[5] : "");
    (answer.ok() ? std::cout : std::cerr) << (answer.ok() ? *answer : answer.status().message()) << "\n";
    return answer.ok() ? 0 : 1;
  }
  std::cerr << "fake_consul: see the head of main.cc\n";
  return 2;
}
