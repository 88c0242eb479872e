// A check provider: looks, when it is told to, whether a service works.
//
//              describe, configure          run, once for every look at every check
//   (made) ──────────────▶ ready ◀──────────────────────────── the host, which schedules:
//                            │ ───▶ passing, warning, critical   interval, jitter, thresholds
//                            └──stop──▶ (nothing is called any more)
//
// The messages are those of drover/v1/check_provider.proto. The host never runs one check twice at a time; different
// checks run in parallel, from any thread, a thousand of them on a large node. A provider keeps nothing of a check from
// one run to the next that it could not do without: it may die and be started anew at any time. A run that dies with it
// is run again at the check's next turn, and until then the check stays what it was.
//
// A result is an answer, so a provider needs no grant to report. Errors are not results: one says that the provider
// could not look, and the host then does not know how the service is; it counts for no threshold and is shown with its
// text. A service that does not answer is critical, not an error.
//
// Errors: not_found for a type that there is not; invalid_argument for options that no run can satisfy, naming the
// option; resource_exhausted when there is too much to do at once; any other code for what failed, with a sentence.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "drover/configurable.h"
#include "drover/plugin_kind.h"

namespace drover::v1 {
class CheckResult;
class CheckType;
class RunCheckRequest;
}  // namespace drover::v1

namespace drover {

inline constexpr size_t kMaxCheckOutput = 3072;  // bytes

class CheckProvider : public Configurable {
 public:
  static constexpr PluginKind kKind{.type = 1001,
                                    .point = "check_provider",
                                    .word = "check",
                                    .name = "check provider",
                                    .protocol = "drover/v1/check_provider.proto"};
  static constexpr std::string_view kExtensionPoint = kKind.point;

  // The types of checks: names that match [a-z][a-z0-9_-]*, each once, each with a sentence and the schema of the
  // options that a check of that type has (drover/hclspec.h). Constant, and asked for before configure().
  virtual std::vector<v1::CheckType> types() const = 0;

  // Looks once. The options come as msgpack by the type's schema, with every name in it (TaskOptions reads them); the
  // type is one of types(). `stop` is requested when the request's `timeout` is over, or nobody waits any more: return
  // soon then, with anything. An answer after the time limit is replaced: a check that has not answered by then is
  // critical. Must not change what it looks at: the host may run it again at any time, and after a crash does.
  // The output is for people. The SDK cuts it at 3 KiB, between two characters, and marks the cut.
  virtual Result<v1::CheckResult> run(const v1::RunCheckRequest& request, std::stop_token stop) = 0;

  // The same without a thread that waits: calls `told` once with what run() would return, on any thread, perhaps before
  // it returns; `told` must not wait. False, the default: the provider cannot, for this request, and has done nothing;
  // its host then keeps a thread in run(), of which it has a few only. Must not wait. Before stop() returns, all have
  // been told.
  using Told = std::function<void(Result<v1::CheckResult> result)>;
  virtual bool begin(const v1::RunCheckRequest& request, std::stop_token stop, Told told);
};

namespace check {

// Waits for what begin() tells, for the run() of a provider that can always begin. An answer that comes after a request
// to stop is waited for, too.
Result<v1::CheckResult> run_begun(CheckProvider& provider, const v1::RunCheckRequest& request, std::stop_token stop);

v1::CheckType type(std::string name, std::string description,
                   const hashicorp::nomad::plugins::shared::hclspec::Spec& options);
v1::CheckResult passing(std::string output);
v1::CheckResult warning(std::string output);
v1::CheckResult critical(std::string output);

// The place at which a check looks: "127.0.0.1:80", "[::1]:80", "name:80". Errors: invalid_argument when the request
// has no address or no port.
Result<std::string> place_of(const v1::RunCheckRequest& request);
// The time that a run has.
std::chrono::nanoseconds timeout_of(const v1::RunCheckRequest& request);

// [a-z][a-z0-9_-]*, at most 64 bytes.
bool is_type_name(std::string_view name);

// At most kMaxCheckOutput bytes, cut between characters and marked when there were more; a byte that is no UTF-8
// becomes U+FFFD.
std::string cut_output(std::string_view output);

}  // namespace check
}  // namespace drover
