#include "drover/auth_method.h"

#include <algorithm>
#include <utility>

#include "drover/object_name.h"
#include "drover/v1/auth_method.pb.h"

namespace drover {

Result<v1::AuthIdentity> AuthMethod::login(const v1::AuthLoginRequest&, std::stop_token) {
  return unimplemented("this auth method has no login with a token");
}

Result<v1::StartAuthLoginResponse> AuthMethod::start_login(const v1::StartAuthLoginRequest&, std::stop_token) {
  return unimplemented("this auth method has no login with a browser");
}

Result<v1::AuthIdentity> AuthMethod::complete_login(const v1::CompleteAuthLoginRequest&, std::stop_token) {
  return unimplemented("this auth method has no login with a browser");
}

namespace auth {
namespace {

constexpr size_t kMaxName = 64;
constexpr size_t kShortestSecret = 4;
constexpr std::string_view kInstead = "[secret]";

// Marks the bytes of each place where the secret stands. The text stays as it is: a replacement is never looked at.
void hide(std::string_view secret, std::string_view text, std::vector<bool>& is_hidden) {
  for (size_t at = text.find(secret); at != std::string_view::npos; at = text.find(secret, at + secret.size())) {
    for (size_t i = 0; i < secret.size(); ++i) is_hidden[at + i] = true;
  }
}

}  // namespace

v1::AuthConfigError config_error(std::string path, std::string problem) {
  v1::AuthConfigError out;
  out.set_path(std::move(path));
  out.set_problem(std::move(problem));
  return out;
}

std::string text_of(std::span<const v1::AuthConfigError> errors) {
  std::string text;
  for (const v1::AuthConfigError& each : errors) {
    const bool is_named = !each.path().empty() && each.problem().ends_with(each.path());  // "missing JWKSURL"
    text += text.empty() ? "" : "; ";
    text += is_named ? each.problem() : (each.path().empty() ? "Config " : each.path() + ": ") + each.problem();
  }
  return text;
}

bool is_type_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && is_ascii_letter(name[0]) && is_alphanumeric(name, "_-");
}

std::vector<std::string_view> secrets_of(std::string_view token) {
  std::vector<std::string_view> out = {token};
  const std::string_view name = token.substr(0, token.find(':'));
  for (size_t colon = token.find(':'); colon != std::string_view::npos; colon = token.find(':', colon + 1)) {
    const std::string_view rest = token.substr(colon + 1), part = rest.substr(0, rest.find(':'));
    out.push_back(rest);
    if (part.size() < rest.size()) out.push_back(part);
  }
  // A password that is the name tells nobody anything that may not be said.
  std::erase_if(out, [&](std::string_view each) {
    return each.size() < kShortestSecret || (each == name && each.size() < token.size());
  });
  // By size first: the texts of most pairs are not compared then, however long they are.
  std::ranges::sort(out, {}, [](std::string_view each) { return std::pair(each.size(), each); });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Status without_secrets(const Status& status, std::span<const std::string_view> tokens) {
  const std::string& text = status.message();
  std::vector<bool> is_hidden(text.size());
  for (const std::string_view token : tokens) {
    for (const std::string_view secret : secrets_of(token)) hide(secret, text, is_hidden);
  }
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!is_hidden[i]) {
      shown += text[i];
    } else if (i == 0 || !is_hidden[i - 1]) {
      shown += kInstead;
    }
  }
  return shown == text ? status : Status(status.code(), std::move(shown));
}

}  // namespace auth
}  // namespace drover
