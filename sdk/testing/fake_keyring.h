// A keyring for tests of plugins that seal or sign.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/base64url.h"
#include "drover/keyring.h"

namespace drover::testing {

// Keys whose cipher is a look-alike: it ties the bytes to key and place, and keeps the text from being seen.
class FakeKeyring final : public Keyring {
 public:
  Result<Sealed> seal(const ReadView&, std::string_view plain, std::string_view associated) override {
    if (active.empty()) return failed_precondition("keyring has not been initialized yet");
    return Sealed{.key_id = active, .bytes = turned(active + std::string(associated) + "|" + std::string(plain))};
  }
  Result<std::string> open(std::string_view key_id, std::string_view bytes, std::string_view associated) override {
    const std::string text = turned(bytes), head = std::string(key_id) + std::string(associated) + "|";
    if (!text.starts_with(head)) return data_loss("not sealed so");
    return text.substr(head.size());
  }
  Result<std::string> sign(const ReadView&, std::string_view claims, Algorithm) override {
    if (active.empty()) return failed_precondition("keyring has not been initialized yet");
    return "here." + base64url(claims) + ".signed";
  }
  Result<std::string> verify(std::string_view token) override {
    if (!token.starts_with("here.") || !token.ends_with(".signed"))
      return permission_denied("token refused: the signature is not the key's");
    return base64url_decode(token.substr(5, token.size() - 12));
  }
  std::string public_keys(const ReadView&) override { return "{}"; }
  Status is_ready(const ReadView&) override { return ok_status(); }
  std::vector<std::string> retiring(const ReadView&) override { return old; }

  std::string active = std::string(16, 'A');
  std::vector<std::string> old;

 private:
  static std::string turned(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = static_cast<char>(c ^ 0x5a);
    return out;
  }
};

}  // namespace drover::testing
