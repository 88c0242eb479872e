// Reads the Config of an auth method and names everything that is wrong in it, each with its path.
//
//   auth::ConfigReader config(request.config());
//   const std::string url = config.text("URL", auth::Need::must);
//   …
//   auto errors = config.finish();   // also of names that nobody asked for
//
// An option that is null, "", [], {}, false, 0 or "0s" counts as absent: clients write every field that they know.
// Pure; one thread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/claims.h"
#include "drover/jose.h"
#include "drover/result.h"

namespace drover::v1 {
class AuthConfigError;
}

namespace drover::auth {

enum class Need : uint8_t { may, must };

class ConfigReader {
 public:
  explicit ConfigReader(std::string_view json);
  ~ConfigReader();
  ConfigReader(const ConfigReader&) = delete;
  ConfigReader& operator=(const ConfigReader&) = delete;

  // An option that is absent or wrong reads as empty; the error is kept.
  std::string text(const std::string& name, Need need = Need::may);
  std::vector<std::string> texts(const std::string& name, Need need = Need::may);
  std::map<std::string, std::string> text_map(const std::string& name);
  // Nothing: it is absent.
  std::optional<bool> flag(const std::string& name);
  // "30s", or nanoseconds.
  std::optional<std::chrono::nanoseconds> duration(const std::string& name);
  // An https URL, or one by http on this machine; empty when it is absent.
  std::string url(const std::string& name, Need need = Need::may);
  // An object of options, as JSON for a reader of its own, whose errors are added here. Nothing: it is absent.
  std::optional<std::string> object(const std::string& name);
  void add(const std::string& name, std::vector<v1::AuthConfigError> errors);
  // It is there, and cannot be used for that reason.
  void refuse(const std::string& name, const std::string& why);
  void error(std::string path, std::string problem);

  // The errors so far, those of names that nobody asked for at the end.
  std::vector<v1::AuthConfigError> finish();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Options that methods by signed tokens share.
std::vector<jose::Algorithm> signing_algorithms(ConfigReader& config);  // "SigningAlgs"; RS256 alone when it is absent
jose::ClaimMappings claim_mappings(ConfigReader& config);               // "ClaimMappings", "ListClaimMappings"
// Certificates in PEM, joined. Empty: the machine's authorities. A text that OpenSSL cannot read is an error of the
// option, and is left out.
std::string authorities(ConfigReader& config, const std::string& name, const std::vector<std::string>& pems);

// Secrets must not go over the network in the open: https, or http to this machine.
bool is_trusted_url(std::string_view url);

}  // namespace drover::auth
