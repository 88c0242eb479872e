// A provider of identities for scripts.
//
//   identity_provider serve FILE      writes its issuer into the file and serves until it is killed
//   identity_provider sign ISSUER CLAIMS            prints a token over these claims, a JSON object
//   identity_provider key ISSUER                    prints the public key that signs, in PEM
//   identity_provider switch ISSUER SWITCHES        see provider.h
//   identity_provider visit URL                     does what a browser does there; prints where it is sent
//   identity_provider code URL                      the same; prints the code that it is sent back with
//   identity_provider get URL                       goes there; prints the page
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>

#include "sdk/testing/identity_provider/provider.h"
#include "sdk/testing/identity_provider/signing_key.h"

namespace {

using drover::Result;
using drover::testing::IdentityProvider;

int print(const Result<std::string>& text) {
  (text.ok() ? std::cout : std::cerr) << (text.ok() ? *text : text.status().message()) << "\n";
  return text.ok() ? 0 : 1;
}

int serve(const std::string& file) {
  const IdentityProvider provider;
  const std::string unfinished = file + ".new";
  std::ofstream(unfinished) << provider.issuer() << "\n";
  std::rename(unfinished.c_str(), file.c_str());
  for (;;) ::pause();
}

Result<std::string> code_of(const std::string& url) {
  DROVER_TRY(auto brought, IdentityProvider::visit(url));
  return brought["code"];
}

}  // namespace

int main(int count, char** words) {
  const std::string command = count > 1 ? words[1] : "", first = count > 2 ? words[2] : "",
                    second = count > 3 ? words[3] : "";
  if (command == "serve" && count == 3) return serve(first);
  if (command == "sign" && count == 4) return print(drover::testing::post(first + "/sign", second));
  if (command == "key" && count == 3) return print(drover::testing::post(first + "/pem", ""));
  if (command == "switch" && count == 4) return print(drover::testing::post(first + "/control", second));
  if (command == "visit" && count == 3) return print(drover::testing::redirect_of(first));
  if (command == "code" && count == 3) return print(code_of(first));
  if (command == "get" && count == 3) return print(drover::testing::page_at(first));
  std::cerr << "identity_provider: see the head of main.cc\n";
  return 2;
}
