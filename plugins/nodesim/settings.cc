#include "settings.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "drover/duration.h"
#include "drover/nearest.h"

namespace drover::nodesim {
namespace {

struct Option {
  std::string_view name;
  std::string_view value;  // what it takes; empty: a switch
  std::string_view help;
  std::function<Status(Settings&, const std::string&)> set;
};

std::function<Status(Settings&, const std::string&)> text(std::string Settings::*member) {
  return [member](Settings& settings, const std::string& value) {
    settings.*member = value;
    return ok_status();
  };
}

std::function<Status(Settings&, const std::string&)> list(std::vector<std::string> Settings::*member) {
  return [member](Settings& settings, const std::string& value) -> Status {
    std::vector<std::string> items;
    for (size_t from = 0; from <= value.size();) {
      const size_t end = std::min(value.find(',', from), value.size());
      if (end == from) return invalid_argument("has an empty item; give items with a comma between them");
      items.push_back(value.substr(from, end - from));
      from = end + 1;
    }
    settings.*member = std::move(items);
    return ok_status();
  };
}

template <typename Number>
std::function<Status(Settings&, const std::string&)> number(Number Settings::*member, Number most) {
  return [member, most](Settings& settings, const std::string& value) -> Status {
    Number parsed{};
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error != std::errc() || end != value.data() + value.size() || parsed < 1 || parsed > most)
      return invalid_argument("takes a whole number from 1 to " + std::to_string(most) + ", not \"" + value + "\"");
    settings.*member = parsed;
    return ok_status();
  };
}

std::function<Status(Settings&, const std::string&)> time(std::function<void(Settings&, std::chrono::nanoseconds)> take,
                                                          bool may_be_zero) {
  return [take = std::move(take), may_be_zero](Settings& settings, const std::string& value) -> Status {
    const auto parsed = parse_duration(value);
    if (!parsed || parsed->count() < 0 || (parsed->count() == 0 && !may_be_zero))
      return invalid_argument("takes a time such as 500ms or 30s, not \"" + value + "\"");
    take(settings, *parsed);
    return ok_status();
  };
}

const std::vector<Option>& options() {
  using std::chrono::nanoseconds;
  static const std::vector<Option> all = {
      {"servers", "HOST:PORT,...", "RPC addresses of servers, with a comma between them. Default: 127.0.0.1:4647.",
       list(&Settings::servers)},
      {"count", "N", "How many nodes. Default: 1.", number(&Settings::count, 1'000'000)},
      {"region", "NAME", "The region of the servers. Default: global.", text(&Settings::region)},
      {"datacenter", "NAME", "Of every node. Default: dc1.", text(&Settings::datacenter)},
      {"class", "NAME", "The node class. Default: none.", text(&Settings::node_class)},
      {"drivers", "NAME,...", "Task drivers that every node has. Default: mock_driver,raw_exec.",
       list(&Settings::drivers)},
      {"cpu", "MHZ", "Of every node. Default: 4000.", number(&Settings::cpu_mhz, int64_t{1'000'000'000})},
      {"memory", "MB", "Of every node. Default: 8192.", number(&Settings::memory_mb, int64_t{1'000'000'000})},
      {"disk", "MB", "Of every node. Default: 100000.", number(&Settings::disk_mb, int64_t{1'000'000'000})},
      {"registering", "N", "How many nodes register at one time. Default: 64.",
       number(&Settings::registering, 1'000'000)},
      {"start-after", "TIME", "From a node's hearing of an allocation to its report that it runs. Default: 0s.",
       time([](Settings& settings, nanoseconds time) { settings.course.start_after = time; }, true)},
      {"run-for", "TIME", "How long an allocation runs before it ends well. Default: until it is stopped.",
       time([](Settings& settings, nanoseconds time) { settings.course.run_for = time; }, true)},
      {"report-every", "TIME", "Running allocations are reported again after this time. Default: not again.",
       time([](Settings& settings, nanoseconds time) { settings.course.report_every = time; }, false)},
      {"in-step", "", "The reports of -report-every come from all nodes at the same moment.",
       [](Settings& settings, const std::string&) {
         settings.in_step = true;
         return ok_status();
       }},
      {"duration", "TIME", "Ends after this time. Default: when interrupted.",
       time([](Settings& settings, nanoseconds time) { settings.duration = time; }, false)},
      {"ca-file", "FILE", "The authority's certificate, where the servers speak TLS.", text(&Settings::ca_file)},
      {"cert-file", "FILE", "The nodes' certificate.", text(&Settings::cert_file)},
      {"key-file", "FILE", "Its key.", text(&Settings::key_file)},
  };
  return all;
}

}  // namespace

Result<Settings> parse_settings(std::span<const std::string> words) {
  Settings settings;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word.size() < 2 || word[0] != '-')
      return invalid_argument("unexpected argument \"" + words[i] + "\"; this command takes options only");
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    const size_t equals = word.find('=');
    const std::string name(word.substr(0, equals));
    const auto option = std::ranges::find(options(), name, &Option::name);
    if (option == options().end()) {
      std::vector<std::string_view> names;
      for (const Option& each : options()) names.push_back(each.name);
      const std::string hint = nearest_hint(name, names);
      return invalid_argument("unknown option -" + name + (hint.empty() ? "" : "; " + hint));
    }
    std::string value;
    if (option->value.empty()) {
      if (equals != std::string_view::npos) return invalid_argument("option -" + name + " takes no value");
    } else if (equals != std::string_view::npos) {
      value = word.substr(equals + 1);
    } else if (i + 1 < words.size()) {
      value = words[++i];
    } else {
      return invalid_argument("option -" + name + " needs a value: " + std::string(option->value));
    }
    DROVER_RETURN_IF_ERROR(option->set(settings, value).with_context("option -" + name));
  }
  const auto files = {settings.ca_file.empty(), settings.cert_file.empty(), settings.key_file.empty()};
  if (std::ranges::count(files, true) % 3 != 0)
    return invalid_argument("options -ca-file, -cert-file and -key-file go together; give all three or none");
  if (settings.in_step && !settings.course.report_every)
    return invalid_argument("option -in-step says when the reports of -report-every come; give that, too");
  return settings;
}

std::string settings_help() {
  std::string help =
      "Usage: drover dev nodesim [options]\n\n"
      "  Registers simulated nodes with servers and keeps them alive, all in this process and over the wire that "
      "agents\n"
      "  use. Each node has an identity and a secret of its own, sends heartbeats, waits for its allocations by a\n"
      "  blocking read and reports them as running, without starting a task. Every second it says on standard error\n"
      "  how far they are, and at the end, by Ctrl-C or -duration, what was asked of the servers and how long they "
      "took.\n\n"
      "Options:\n\n";
  for (const Option& option : options()) {
    std::string left = "    -" + std::string(option.name);
    if (!option.value.empty()) left += " " + std::string(option.value);
    left.resize(std::max<size_t>(left.size() + 2, 28), ' ');
    help += left + std::string(option.help) + "\n";
  }
  return help;
}

}  // namespace drover::nodesim
