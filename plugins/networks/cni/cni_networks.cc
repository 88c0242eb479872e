#include "cni/cni_networks.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "cni/network_list.h"
#include "drover/log.h"
#include "drover/program.h"
#include "drover/v1/allocation.pb.h"
#include "native/links.h"

namespace drover::networks::cni {
namespace {

constexpr auto kPluginTime = std::chrono::seconds(60);
constexpr auto kIptablesTime = std::chrono::seconds(30);
constexpr std::string_view kCniMode = "cni/";
// The programs that plugins start themselves.
constexpr const char* kPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

class MachinePrograms final : public Programs {
 public:
  explicit MachinePrograms(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  Result<PluginAnswer> call(const PluginCall& call) override {
    const std::string program = find_plugin(folders_, call.type);
    if (program.empty()) return not_found("failed to find plugin \"" + call.type + "\" in client.cni_path");
    std::vector<std::string> environment = call.environment;
    environment.emplace_back(kPath);
    return answer_of({.program = program, .environment = std::move(environment), .input = call.input, .time = kPluginTime});
  }
  Result<PluginAnswer> iptables(bool is_v6, const std::vector<std::string>& arguments) override {
    std::vector<std::string> words{"-w"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return answer_of(
        {.program = is_v6 ? "ip6tables" : "iptables", .arguments = std::move(words), .time = kIptablesTime});
  }

 private:
  static Result<PluginAnswer> answer_of(const ProgramRun& run) {
    DROVER_TRY(ProgramEnd end, run_program(run));
    return PluginAnswer{.code = end.code, .output = std::move(end.output), .errors = std::move(end.errors)};
  }
  const std::vector<std::string> folders_;
};

// The words of a line of `iptables -S`; quotes hold a word together and take a backslash before a quote.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool is_quoted = false, has_word = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && is_quoted && i + 1 < line.size()) {
      word += line[++i];
    } else if (c == '"') {
      is_quoted = !is_quoted;
      has_word = true;
    } else if (c == ' ' && !is_quoted) {
      if (has_word) words.push_back(std::move(word));
      word.clear();
      has_word = false;
    } else {
      word += c;
      has_word = true;
    }
  }
  if (has_word) words.push_back(std::move(word));
  return words;
}

std::string after(const std::vector<std::string>& words, std::string_view option) {
  const auto at = std::ranges::find(words, option);
  return at == words.end() || at + 1 == words.end() ? std::string() : *(at + 1);
}

}  // namespace

std::string find_plugin(const std::vector<std::string>& folders, const std::string& type) {
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + type;
    struct stat found {};
    if (::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

std::unique_ptr<Programs> programs_of(std::vector<std::string> folders) {
  return std::make_unique<MachinePrograms>(std::move(folders));
}

std::vector<MasqueradeRule> masquerade_rules(std::string_view printed, const std::string& network,
                                             const std::string& allocation) {
  const std::string comment = "name: \"" + network + "\" id: \"" + allocation + "\"";
  std::vector<MasqueradeRule> rules;
  while (!printed.empty()) {
    const size_t end = std::min(printed.find('\n'), printed.size());
    std::vector<std::string> words = words_of(printed.substr(0, end));
    printed.remove_prefix(std::min(end + 1, printed.size()));
    if (words.size() < 3 || words[0] != "-A" || after(words, "--comment") != comment) continue;
    const std::string chain = after(words, "-j");
    if (!chain.starts_with("CNI-")) continue;
    words.erase(words.begin());
    rules.push_back({.words = std::move(words), .chain = chain});
  }
  return rules;
}

Result<NetworkList> CniNetworks::list_for(const std::string& mode) const {
  if (!mode.starts_with(kCniMode)) return bridge_list(config_);
  return find_list(config_.cni_config_folder, mode.substr(kCniMode.size()));
}

Result<std::string> CniNetworks::call(const PluginCall& call) {
  DROVER_TRY(const PluginAnswer answer, programs_.call(call));
  return read_answer(call, answer);
}

Result<std::string> CniNetworks::add(const NetworkList& list, const Wanted& wanted) {
  std::string result;
  for (size_t i = 0; i < list.plugins.size(); ++i) {
    DROVER_TRY(std::string next, call(plugin_call("ADD", list, i, wanted, result, config_.cni_folders)));
    if (!next.empty()) result = std::move(next);
  }
  return result;
}

Status CniNetworks::remove(const NetworkList& list, const Wanted& wanted, const std::string& result) {
  Status first;
  for (size_t i = list.plugins.size(); i-- > 0;) {
    const auto done = call(plugin_call("DEL", list, i, wanted, result, config_.cni_folders));
    if (!done.ok() && first.ok()) first = done.status();
  }
  return first;
}

// Packets for the allocations pass whatever else filters them: the operator's chain begins with that.
Status CniNetworks::admit(bool is_v6, const Subnet& subnet) {
  (void)programs_.iptables(is_v6, {"-N", kAdminChain});  // it may be there already
  const std::vector<std::string> rule{kAdminChain, "-o", config_.bridge, "-d", to_string(subnet), "-j", "ACCEPT"};
  const auto with = [&](const char* action) {
    std::vector<std::string> words{action};
    words.insert(words.end(), rule.begin(), rule.end());
    return programs_.iptables(is_v6, words);
  };
  DROVER_TRY(const PluginAnswer is_there, with("-C"));
  if (is_there.code == 0) return ok_status();
  DROVER_TRY(const PluginAnswer added, with("-A"));
  if (added.code == 0) return ok_status();
  return unavailable("add a rule to the chain " + std::string(kAdminChain) + ": " + added.errors);
}

// Without its namespace an allocation's address is not known to the plugins, and its masquerading stays.
void CniNetworks::sweep(const std::string& network, const std::string& allocation) {
  const auto printed = programs_.iptables(false, {"-t", "nat", "-S", "POSTROUTING"});
  if (!printed.ok() || printed->code != 0) return;
  for (const MasqueradeRule& rule : masquerade_rules(printed->output, network, allocation)) {
    std::vector<std::string> words{"-t", "nat", "-D"};
    words.insert(words.end(), rule.words.begin(), rule.words.end());
    (void)programs_.iptables(false, words);
    (void)programs_.iptables(false, {"-t", "nat", "-F", rule.chain});
    (void)programs_.iptables(false, {"-t", "nat", "-X", rule.chain});
  }
}

Status CniNetworks::begin(const Wanted& wanted, StoredAttachment& out) {
  out.set_kind("cni");
  DROVER_TRY(const NetworkList list, list_for(wanted.mode));
  out.set_list(to_json(list));
  return ok_status();
}

Status CniNetworks::attach(const Wanted& wanted, StoredAttachment& out) {
  DROVER_TRY(const NetworkList list, parse_list(out.list()));
  const MutexLock lock(mutex_);
  if (!wanted.mode.starts_with(kCniMode)) {
    DROVER_RETURN_IF_ERROR(admit(false, config_.subnet));
    if (config_.subnet6) DROVER_RETURN_IF_ERROR(admit(true, *config_.subnet6));
  }
  auto result = add(list, wanted);
  auto status = result ? status_of(*result) : Result<v1::NetworkStatus>(result.status());
  if (!status) {
    (void)remove(list, wanted, {});
    return status.status();
  }
  out.set_result(*std::move(result));
  *out.mutable_status() = *std::move(status);
  return ok_status();
}

Status CniNetworks::found(const Wanted& wanted, const StoredAttachment&) {
  DROVER_TRY(Links inside, Links::open_in(wanted.path));
  return inside.check(kInterface);
}

Status CniNetworks::detach(const Wanted& wanted, const StoredAttachment& attachment) {
  DROVER_TRY(const NetworkList list, parse_list(attachment.list()));
  const MutexLock lock(mutex_);
  const Status removed = remove(list, wanted, attachment.result());
  const bool has_namespace = ::access(wanted.path.c_str(), F_OK) == 0;
  if (!removed.ok() || !has_namespace) sweep(list.name, wanted.allocation);
  return has_namespace ? removed : ok_status();
}

}  // namespace drover::networks::cni
