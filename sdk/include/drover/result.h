// Errors as values: Status says what went wrong and what the caller may do, Result<T> is a value or a Status.
//
// The codes are gRPC's canonical ones with the same integers, so a status crosses process and plugin boundaries
// unchanged. They tell the caller what to do:
//   unavailable          retry elsewhere            aborted             retry the whole operation
//   failed_precondition  retry after a change       invalid_argument    never retry
//   resource_exhausted   back off, then retry       not_found           it is not there
// A status keeps its code while it climbs and gains place: `status.with_context("plugin acl: manifest line 12")`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace drover {

enum class Code : int32_t {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

std::string_view to_string(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::ok; }
  explicit operator bool() const { return ok(); }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // A serialized protobuf message for programs, or empty. It survives with_context.
  const std::string& details() const { return details_; }
  Status with_details(std::string details) && {
    details_ = std::move(details);
    return std::move(*this);
  }

  // The same error seen from one level up: "context: message".
  Status with_context(std::string_view context) const;

  // "not_found: job \"web\" does not exist", for logs and test failures.
  std::string to_string() const;

  friend bool operator==(const Status&, const Status&) = default;

 private:
  Code code_ = Code::ok;
  std::string message_;
  std::string details_;
};

inline Status ok_status() { return {}; }
inline Status cancelled(std::string why) { return {Code::cancelled, std::move(why)}; }
inline Status invalid_argument(std::string why) { return {Code::invalid_argument, std::move(why)}; }
inline Status deadline_exceeded(std::string why) { return {Code::deadline_exceeded, std::move(why)}; }
inline Status not_found(std::string why) { return {Code::not_found, std::move(why)}; }
inline Status already_exists(std::string why) { return {Code::already_exists, std::move(why)}; }
inline Status permission_denied(std::string why) { return {Code::permission_denied, std::move(why)}; }
inline Status resource_exhausted(std::string why) { return {Code::resource_exhausted, std::move(why)}; }
inline Status failed_precondition(std::string why) { return {Code::failed_precondition, std::move(why)}; }
inline Status aborted(std::string why) { return {Code::aborted, std::move(why)}; }
inline Status unimplemented(std::string why) { return {Code::unimplemented, std::move(why)}; }
inline Status internal_error(std::string why) { return {Code::internal, std::move(why)}; }
inline Status unavailable(std::string why) { return {Code::unavailable, std::move(why)}; }
inline Status data_loss(std::string why) { return {Code::data_loss, std::move(why)}; }

// The text of an errno value after a failed call: "open /a/b: Permission denied". The code follows the cause:
// ENOENT not_found, EACCES/EPERM permission_denied, ENOSPC/EMFILE resource_exhausted, EEXIST already_exists, else
// internal.
Status errno_status(int error, std::string_view what);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit by design
    if (status_.ok()) status_ = internal_error("a Result was made from an ok Status without a value");
  }

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }

  // Requires: ok().
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

  T value_or(T other) const& { return value_ ? *value_ : std::move(other); }
  Result with_context(std::string_view context) && {
    if (!ok()) status_ = status_.with_context(context);
    return std::move(*this);
  }

 private:
  std::optional<T> value_;
  Status status_;
};

// Broken invariant of our own: prints the text and aborts, in release builds too.
[[noreturn]] void check_failed(const char* file, int line, const char* what);

}  // namespace drover

#define DROVER_CONCAT_2(a, b) a##b
#define DROVER_CONCAT(a, b) DROVER_CONCAT_2(a, b)

// DROVER_TRY(Job job, parse_job(text));   declares `job`, or returns the status from the enclosing function.
#define DROVER_TRY(declaration, expression) DROVER_TRY_2(DROVER_CONCAT(result_, __LINE__), declaration, expression)
#define DROVER_TRY_2(temporary, declaration, expression) \
  auto temporary = (expression);                         \
  if (!temporary.ok()) return temporary.status();        \
  declaration = *std::move(temporary)

// DROVER_RETURN_IF_ERROR(store.open());
#define DROVER_RETURN_IF_ERROR(expression)                                    \
  do {                                                                        \
    if (::drover::Status drover_status = (expression); !drover_status.ok()) { \
      return drover_status;                                                   \
    }                                                                         \
  } while (false)

#define DROVER_CHECK(condition)                                               \
  do {                                                                        \
    if (!(condition)) ::drover::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)
