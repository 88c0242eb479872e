#include <array>
#include <charconv>

#include "call_filter.h"
#include "isolation_set.h"

namespace drover {
namespace {

constexpr int kHex = 16;
constexpr std::string_view kNoNewPrivileges = " no_new_privs", kFiltered = " seccomp";

// "a8040531 no_new_privs seccomp".
std::string text_of(const Rights& rights) {
  std::array<char, kHex> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), rights.capabilities, kHex).ptr;
  std::string text(digits.begin(), end);
  if (rights.no_new_privileges) text += kNoNewPrivileges;
  if (rights.are_calls_filtered) text += kFiltered;
  return text;
}

Result<Rights> rights_from(std::string_view text) {
  Rights rights{.capabilities = 0, .no_new_privileges = false, .are_calls_filtered = false};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rights.capabilities, kHex);
  if (error != std::errc()) return invalid_argument("its rights cannot be read");
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  const auto take = [&text](std::string_view word) {
    if (!text.starts_with(word)) return false;
    text.remove_prefix(word.size());
    return true;
  };
  rights.no_new_privileges = take(kNoNewPrivileges);
  rights.are_calls_filtered = take(kFiltered);
  if (!text.empty()) return invalid_argument("its rights cannot be read");
  return rights;
}

class WithRights final : public TaskIsolation {
 public:
  explicit WithRights(const Rights& rights) : rights_(rights) {}
  std::string state() const override { return text_of(rights_); }
  void apply(Launcher::Start& start) const override {
    Confinement& confinement = confinement_of(start);
    confinement.capabilities = rights_.capabilities;
    confinement.no_new_privileges = rights_.no_new_privileges;
    if (rights_.are_calls_filtered) confinement.call_filter = bytes_of(call_filter(rights_.capabilities));
    confinement.has_own_keyring = true;
    confinement.resets_oom_score = true;
  }

 private:
  const Rights rights_;
};

class ReducedRights final : public IsolationPart {
 public:
  std::string_view name() const override { return "rights"; }
  Result<std::unique_ptr<TaskIsolation>> set_up(const driver::TaskConfig&, const IsolationNeeds& needs) override {
    return std::unique_ptr<TaskIsolation>(std::make_unique<WithRights>(needs.rights));
  }
  // The task keeps what it was started with, whatever is allowed now.
  Result<std::unique_ptr<TaskIsolation>> recover(const driver::TaskConfig&, std::string_view state) override {
    DROVER_TRY(const Rights rights, rights_from(state));
    return std::unique_ptr<TaskIsolation>(std::make_unique<WithRights>(rights));
  }
};

}  // namespace

std::unique_ptr<IsolationPart> reduced_rights() { return std::make_unique<ReducedRights>(); }

}  // namespace drover
