#include "drover/result.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace drover {

std::string_view to_string(Code code) {
  static constexpr std::array<std::string_view, 17> kNames = {
      "ok",        "cancelled",      "unknown",           "invalid_argument",   "deadline_exceeded",
      "not_found", "already_exists", "permission_denied", "resource_exhausted", "failed_precondition",
      "aborted",   "out_of_range",   "unimplemented",     "internal",           "unavailable",
      "data_loss", "unauthenticated"};
  auto index = static_cast<size_t>(code);
  return index < kNames.size() ? kNames[index] : "unknown";
}

Status Status::with_context(std::string_view context) const {
  if (ok()) return *this;
  Status out(code_, std::string(context) + ": " + message_);
  out.details_ = details_;
  return out;
}

std::string Status::to_string() const {
  if (ok()) return "ok";
  return std::string(drover::to_string(code_)) + ": " + message_;
}

Status errno_status(int error, std::string_view what) {
  Code code = Code::internal;
  switch (error) {
    case ENOENT:
    case ESRCH:
      code = Code::not_found;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = Code::permission_denied;
      break;
    case ENOSPC:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
      code = Code::resource_exhausted;
      break;
    case EEXIST:
    case EADDRINUSE:
      code = Code::already_exists;
      break;
    case ETIMEDOUT:
      code = Code::deadline_exceeded;
      break;
    default:
      break;
  }
  std::array<char, 256> buffer{};
  const char* text = strerror_r(error, buffer.data(), buffer.size());
  return {code, std::string(what) + ": " + text};
}

void check_failed(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, what);
  std::fflush(stderr);
  std::abort();
}

}  // namespace drover
