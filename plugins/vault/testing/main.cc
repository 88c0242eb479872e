// A Vault for scripts.
//
//   fake_vault serve FILE           writes its address into the file and serves until it is killed
//   fake_vault order ADDRESS JSON   see fake_vault.h
//   fake_vault state ADDRESS        prints the tokens that are good, and how often each path was asked
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>

#include "testing/fake_vault.h"

namespace {

int print(const drover::Result<std::string>& text) {
  (text.ok() ? std::cout : std::cerr) << (text.ok() ? *text : text.status().message()) << "\n";
  return text.ok() ? 0 : 1;
}

int serve(const std::string& file) {
  const drover::testing::FakeVault vault;
  const std::string unfinished = file + ".new";
  std::ofstream(unfinished) << vault.address() << "\n";
  std::rename(unfinished.c_str(), file.c_str());
  for (;;) ::pause();
}

}  // namespace

int main(int count, char** words) {
  const std::string command = count > 1 ? words[1] : "", first = count > 2 ? words[2] : "";
  if (command == "serve" && count == 3) return serve(first);
  if (command == "order" && count == 4) return print(drover::testing::post(first + "/order", words[3]));
  if (command == "state" && count == 3) return print(drover::testing::page_at(first + "/state"));
  std::cerr << "fake_vault: see the head of main.cc\n";
  return 2;
}
