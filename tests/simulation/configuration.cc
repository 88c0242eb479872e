#include "tests/simulation/configuration.h"

#include <algorithm>
#include <charconv>

#include "tests/simulation/world/random.h"

namespace drover::simulation {
namespace {

using C = Configuration;

constexpr int64_t kUsualTick = 100'000;

constexpr ConfigurationField kFields[] = {
    // Faults first: that is the order in which a failing run is made simpler.
    {"membership_every", &C::membership_every, 0},
    {"transfer_every", &C::transfer_every, 0},
    {"snapshot_every", &C::snapshot_every, 0},
    {"bit_flip_every", &C::bit_flip_every, 0},
    {"full_every", &C::full_every, 0},
    {"read_error_every", &C::read_error_every, 0},
    {"sync_error_every", &C::sync_error_every, 0},
    {"write_error_every", &C::write_error_every, 0},
    {"hang_every", &C::hang_every, 0},
    {"slow_disk_every", &C::slow_disk_every, 0},
    {"blackout_every", &C::blackout_every, 0},
    {"power_cut_every", &C::power_cut_every, 0},
    {"crash_every", &C::crash_every, 0},
    {"pause_every", &C::pause_every, 0},
    {"clock_jump_every", &C::clock_jump_every, 0},
    {"clock_rate", &C::clock_rate, 0},
    {"partition_every", &C::partition_every, 0},
    {"reset_every", &C::reset_every, 0},
    {"malformed_every", &C::malformed_every, 0},
    {"loss", &C::loss, 0},
    {"duplicates", &C::duplicates, 0},
    {"reorder", &C::reorder, 0},
    {"bandwidth", &C::bandwidth, 0},
    {"unlike_links", &C::unlike_links, 0},
    {"garbage_sectors", &C::garbage_sectors, 0},
    {"lease_reads", &C::lease_reads, 0},
    {"joiners", &C::joiners, 0},
    {"driver", &C::driver, 0},
    {"snapshot_entries", &C::snapshot_entries, 0},
    {"clients", &C::clients, 1},
    {"keys", &C::keys, 1},
    {"nodes", &C::nodes, 3},
    {"inbox_delay", &C::inbox_delay, 0},
    {"apply_delay", &C::apply_delay, 0},
    {"apply_batch", &C::apply_batch, 256},
    {"append_bytes", &C::append_bytes, 1 << 20},
    {"window_messages", &C::window_messages, 256},
    {"window_bytes", &C::window_bytes, 32 << 20},
    {"max_entry_bytes", &C::max_entry_bytes, 8 << 20},
    {"max_uncommitted_bytes", &C::max_uncommitted_bytes, 64 << 20},
    {"recent_bytes", &C::recent_bytes, 32 << 20},
    {"segment_bytes", &C::segment_bytes, 64 << 10},
    {"initial_segment_bytes", &C::initial_segment_bytes, 16 << 10},
    {"spare_segments", &C::spare_segments, 2},
    {"cache_bytes", &C::cache_bytes, 64 << 20},
    {"direct_writes", &C::direct_writes, 1},
    {"idle_confirm", &C::idle_confirm, 50'000},
    {"trail_entries", &C::trail_entries, 50},
    {"value_bytes", &C::value_bytes, 16},
    {"heartbeat_ticks", &C::heartbeat_ticks, 1},
    {"jitter", &C::jitter, 300},
    {"delay", &C::delay, 500},
    {"disk_write", &C::disk_write, 300},
    {"queue_bytes", &C::queue_bytes, 1 << 20},
    {"sector_survival", &C::sector_survival, 500'000},
    {"read_share", &C::read_share, 400'000},
    {"follower_read_share", &C::follower_read_share, 300'000},
    // Never changed while shrinking: they make the run another one, not a simpler one.
    {"duration", &C::duration, -1},
    {"think", &C::think, -1},
    {"client_timeout", &C::client_timeout, -1},
    {"client_retries", &C::client_retries, -1},
    {"tick", &C::tick, -1},
    {"election_ticks", &C::election_ticks, -1},
    {"check_every", &C::check_every, -1},
    {"partition_length", &C::partition_length, -1},
    {"down_time", &C::down_time, -1},
    {"pause_length", &C::pause_length, -1},
};

// Draws by name of the field, so that a new field changes no other.
class Draw {
 public:
  explicit Draw(uint64_t seed) : seed_(seed) {}
  Random stream(std::string_view name) const { return Random(seed_, name); }

  int64_t one_of(std::string_view name, std::initializer_list<int64_t> values) const {
    return values.begin()[stream(name).below(values.size())];
  }
  // With these odds something, drawn evenly by order of magnitude from [low, high]; otherwise 0.
  int64_t maybe(std::string_view name, int64_t ppm, int64_t low, int64_t high) const {
    Random random = stream(name);
    if (!random.chance(ppm)) return 0;
    const double exponent = static_cast<double>(random.below(1001)) / 1000;
    return static_cast<int64_t>(static_cast<double>(low) *
                                std::pow(static_cast<double>(high) / static_cast<double>(low), exponent));
  }

 private:
  const uint64_t seed_;
};

void draw_network(const Draw& draw, Configuration& c) {
  c.delay = draw.one_of("delay", {50, 200, 500, 2'000, 10'000});
  c.jitter = draw.one_of("jitter", {0, 100, 500, 5'000, 20'000});
  c.loss = draw.maybe("loss", 400'000, 1'000, 200'000);
  c.duplicates = draw.maybe("duplicates", 300'000, 1'000, 200'000);
  c.reorder = draw.maybe("reorder", 300'000, 1'000, 300'000);
  c.bandwidth = draw.maybe("bandwidth", 150'000, 20'000, 2'000'000);
  c.queue_bytes = draw.one_of("queue_bytes", {2'000, 20'000, 1 << 20});
  c.unlike_links = draw.maybe("unlike_links", 200'000, 2, 20);
  c.malformed_every = draw.maybe("malformed_every", 150'000, 50'000, 2'000'000);
  c.reset_every = draw.maybe("reset_every", 300'000, 200'000, 5'000'000);
  c.partition_every = draw.maybe("partition_every", 450'000, 500'000, 6'000'000);
  c.partition_length = draw.one_of("partition_length", {300'000, 1'000'000, 3'000'000});
}

void draw_disks(const Draw& draw, Configuration& c) {
  c.disk_write = draw.one_of("disk_write", {20, 100, 300, 1'000, 5'000, 20'000});
  c.sector_survival = draw.one_of("sector_survival", {0, 200'000, 500'000, 900'000, 1'000'000});
  c.garbage_sectors = draw.maybe("garbage_sectors", 300'000, 50'000, 500'000);
  c.slow_disk_every = draw.maybe("slow_disk_every", 250'000, 500'000, 5'000'000);
  c.hang_every = draw.maybe("hang_every", 200'000, 1'000'000, 8'000'000);
  c.write_error_every = draw.maybe("write_error_every", 150'000, 500'000, 8'000'000);
  c.sync_error_every = draw.maybe("sync_error_every", 150'000, 500'000, 8'000'000);
  c.read_error_every = draw.maybe("read_error_every", 150'000, 500'000, 8'000'000);
  c.full_every = draw.maybe("full_every", 120'000, 500'000, 8'000'000);
  c.bit_flip_every = draw.maybe("bit_flip_every", 150'000, 200'000, 4'000'000);
  c.segment_bytes = draw.one_of("segment_bytes", {8 << 10, 16 << 10, 32 << 10, 64 << 10, 256 << 10});
  c.initial_segment_bytes = std::min(c.segment_bytes, draw.one_of("initial_segment_bytes", {8 << 10, 16 << 10}));
  c.spare_segments = draw.one_of("spare_segments", {0, 1, 2});
  c.cache_bytes = draw.one_of("cache_bytes", {0, 1'000, 1 << 20});
  c.direct_writes = draw.one_of("direct_writes", {0, 1, 1});
  c.idle_confirm = draw.one_of("idle_confirm", {5'000, 50'000});
}

void draw_servers(const Draw& draw, Configuration& c) {
  c.crash_every = draw.maybe("crash_every", 450'000, 300'000, 5'000'000);
  c.power_cut_every = draw.maybe("power_cut_every", 400'000, 300'000, 5'000'000);
  c.blackout_every = draw.maybe("blackout_every", 100'000, 2'000'000, 8'000'000);
  c.down_time = draw.one_of("down_time", {1'000, 100'000, 500'000, 2'000'000});
  c.pause_every = draw.maybe("pause_every", 250'000, 500'000, 5'000'000);
  c.pause_length = draw.one_of("pause_length", {50'000, 500'000, 3'000'000});
  c.clock_rate = draw.one_of("clock_rate", {0, 0, 200, 10'000, 10'000, 100'000});
  c.clock_jump_every = draw.maybe("clock_jump_every", 150'000, 500'000, 5'000'000);
  c.transfer_every = draw.maybe("transfer_every", 300'000, 200'000, 4'000'000);
  c.membership_every = draw.maybe("membership_every", 400'000, 100'000, 2'000'000);
  c.snapshot_every = draw.maybe("snapshot_every", 150'000, 100'000, 2'000'000);
  c.joiners = c.membership_every != 0 ? draw.one_of("joiners", {1, 2, 3}) : 0;
}

void draw_core(const Draw& draw, Configuration& c) {
  c.tick = draw.one_of("tick", {10'000, 20'000, 50'000, kUsualTick});
  c.election_ticks = draw.one_of("election_ticks", {4, 8, 10, 10, 20});
  c.heartbeat_ticks = draw.one_of("heartbeat_ticks", {1, 1, 1, 2});
  c.append_bytes = draw.one_of("append_bytes", {1, 100, 1'000, 1 << 20, 1 << 20});
  c.window_messages = draw.one_of("window_messages", {1, 2, 8, 256, 256});
  c.window_bytes = draw.one_of("window_bytes", {1, 500, 10'000, 32 << 20, 32 << 20});
  c.max_entry_bytes = draw.one_of("max_entry_bytes", {8 << 20, 8 << 20, 120});
  c.max_uncommitted_bytes = draw.one_of("max_uncommitted_bytes", {1, 300, 5'000, 64 << 20, 64 << 20});
  c.recent_bytes = draw.one_of("recent_bytes", {0, 200, 5'000, 32 << 20, 32 << 20});
  c.inbox_delay = draw.one_of("inbox_delay", {0, 0, 50, 500});
  c.apply_delay = draw.one_of("apply_delay", {0, 0, 100, 20'000});
  c.apply_batch = draw.one_of("apply_batch", {1, 16, 256});
  c.snapshot_entries = draw.one_of("snapshot_entries", {0, 3, 20, 100, 100});
  c.trail_entries = draw.one_of("trail_entries", {0, 1, 10, 50});
  // A lease counts on clocks of a known quality: within the drift that the core is told, and without jumps.
  c.lease_reads = draw.one_of("lease_reads", {0, 0, 0, 1});
  if (c.lease_reads != 0) {
    c.clock_rate = std::min<int64_t>(c.clock_rate, 10'000);
    c.clock_jump_every = 0;
  }
}

}  // namespace

std::span<const ConfigurationField> configuration_fields() { return kFields; }

Configuration draw_configuration(uint64_t seed) {
  const Draw draw(seed);
  Configuration c;
  c.driver = draw.one_of("driver", {0, 0, 1});
  c.nodes = draw.one_of("nodes", {1, 2, 3, 3, 3, 3, 4, 5, 5, 5, 6, 7});
  c.clients = draw.one_of("clients", {1, 3, 4, 6});
  c.keys = draw.one_of("keys", {1, 2, 5});
  c.think = draw.one_of("think", {5'000, 20'000, 50'000, 200'000});
  c.value_bytes = draw.one_of("value_bytes", {8, 16, 200, 2'000});
  c.read_share = draw.one_of("read_share", {100'000, 400'000, 700'000});
  c.follower_read_share = draw.one_of("follower_read_share", {0, 300'000, 700'000});
  draw_network(draw, c);
  draw_disks(draw, c);
  draw_servers(draw, c);
  draw_core(draw, c);
  // Nothing rots while the membership changes (Faults::flip_bit): a run has one or the other. Rot is found at a start.
  if (c.bit_flip_every != 0) {
    c.membership_every = c.joiners = 0;
    if (c.crash_every == 0 && c.power_cut_every == 0) c.crash_every = 1'500'000;
  }
  // Everything that takes its time was drawn for the usual tick of 100 ms: a faster cluster lives a shorter life.
  for (int64_t C::*const time : {&C::duration,          &C::think,
                                 &C::malformed_every,   &C::reset_every,
                                 &C::partition_every,   &C::partition_length,
                                 &C::slow_disk_every,   &C::hang_every,
                                 &C::write_error_every, &C::sync_error_every,
                                 &C::read_error_every,  &C::full_every,
                                 &C::bit_flip_every,    &C::crash_every,
                                 &C::power_cut_every,   &C::blackout_every,
                                 &C::down_time,         &C::pause_every,
                                 &C::pause_length,      &C::clock_jump_every,
                                 &C::transfer_every,    &C::membership_every,
                                 &C::snapshot_every}) {
    c.*time = c.*time * c.tick / kUsualTick;
  }
  c.client_timeout = c.tick * c.election_ticks * draw.one_of("client_timeout", {1, 3, 6});
  c.client_retries = draw.one_of("client_retries", {1, 4, 10});
  return c;
}

Status set_fields(Configuration& configuration, std::string_view text) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const size_t equals = word.find('=');
    const auto field = std::ranges::find(kFields, word.substr(0, equals), &ConfigurationField::name);
    if (equals == std::string_view::npos || field == std::end(kFields))
      return invalid_argument("\"" + std::string(word) + "\": expected NAME=VALUE with the name of a field");
    int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data() + equals + 1, word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < 0)
      return invalid_argument("\"" + std::string(word) + "\": the value is not a number");
    configuration.*field->place = value;
  }
  if (configuration.nodes < 1 || configuration.nodes > 7 || configuration.joiners > 8 || configuration.clients > 100)
    return invalid_argument("nodes must be 1 to 7, joiners at most 8, clients at most 100");
  if (configuration.tick < 1000 || configuration.election_ticks < 2 || configuration.keys < 1)
    return invalid_argument("tick must be at least 1000, election_ticks at least 2, keys at least 1");
  return ok_status();
}

std::string difference(const Configuration& configuration, const Configuration& base) {
  std::string text;
  for (const ConfigurationField& field : kFields) {
    if (configuration.*field.place == base.*field.place) continue;
    if (!text.empty()) text += ",";
    text += std::string(field.name) + "=" + std::to_string(configuration.*field.place);
  }
  return text;
}

}  // namespace drover::simulation
