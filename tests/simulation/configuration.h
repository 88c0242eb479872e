// The parameters of a run: drawn from its seed, changed by name, written as one line. Plain values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::simulation {

// Times are in microseconds, sizes in bytes, odds in parts of a million. `…_every` is the mean time between two faults
// of a kind over the whole cluster; 0 means that there are none.
struct Configuration {
  int64_t duration = 10'000'000;  // until all faults end
  int64_t nodes = 3;              // voters at start
  int64_t joiners = 0;            // servers that membership changes may add
  int64_t clients = 4;
  int64_t keys = 3;
  int64_t think = 20'000;  // between two operations of a client
  int64_t value_bytes = 16;
  int64_t read_share = 400'000;
  int64_t follower_read_share = 300'000;  // of the reads
  int64_t client_timeout = 1'500'000;
  int64_t client_retries = 6;

  // The core.
  int64_t tick = 50'000;
  int64_t heartbeat_ticks = 1;
  int64_t election_ticks = 10;
  int64_t append_bytes = 1 << 20;
  int64_t window_messages = 256;
  int64_t window_bytes = 32 << 20;
  int64_t max_entry_bytes = 8 << 20;
  int64_t max_uncommitted_bytes = 64 << 20;
  int64_t recent_bytes = 32 << 20;
  int64_t lease_reads = 0;
  int64_t check_every = 8;  // steps between two re-derivations of a core's invariants

  // The shell.
  int64_t driver = 0;       // 1: the product's own, which shows less of what happens inside
  int64_t inbox_delay = 0;  // mean; inputs that arrive meanwhile are taken together
  int64_t apply_delay = 0;  // mean
  int64_t apply_batch = 256;
  int64_t segment_bytes = 64 << 10;
  int64_t initial_segment_bytes = 16 << 10;
  int64_t spare_segments = 2;
  int64_t cache_bytes = 64 << 20;
  int64_t direct_writes = 1;
  int64_t idle_confirm = 50'000;
  int64_t snapshot_entries = 200;  // 0: none
  int64_t trail_entries = 50;

  // The network.
  int64_t delay = 500;            // smallest
  int64_t jitter = 300;           // mean of what is added
  int64_t loss = 0;               // odds
  int64_t duplicates = 0;         // odds
  int64_t reorder = 0;            // odds of a message that others overtake
  int64_t bandwidth = 0;          // bytes a second of a link; 0: no limit
  int64_t queue_bytes = 1 << 20;  // of a link, when it has a bandwidth: what is more is dropped
  int64_t unlike_links = 0;       // each link has a delay of its own, up to so many times
  int64_t malformed_every = 0;
  int64_t reset_every = 0;
  int64_t partition_every = 0;
  int64_t partition_length = 2'000'000;

  // The disks.
  int64_t disk_write = 300;           // mean
  int64_t sector_survival = 500'000;  // odds of an unsynced sector
  int64_t garbage_sectors = 0;        // odds of a lost one to hold neither old nor new
  int64_t slow_disk_every = 0;
  int64_t hang_every = 0;
  int64_t write_error_every = 0;
  int64_t sync_error_every = 0;
  int64_t read_error_every = 0;
  int64_t full_every = 0;
  int64_t bit_flip_every = 0;  // never on so many servers that a quorum is hit

  // The servers.
  int64_t crash_every = 0;
  int64_t power_cut_every = 0;  // between two operations of a disk
  int64_t blackout_every = 0;   // all servers at once
  int64_t down_time = 500'000;  // mean
  int64_t pause_every = 0;
  int64_t pause_length = 1'000'000;
  int64_t clock_rate = 0;        // largest deviation, parts of a million
  int64_t clock_jump_every = 0;  // forward, by up to two election timeouts

  // The operator.
  int64_t transfer_every = 0;
  int64_t membership_every = 0;
  int64_t snapshot_every = 0;  // by hand

  friend bool operator==(const Configuration&, const Configuration&) = default;
};

struct ConfigurationField {
  std::string_view name;
  int64_t Configuration::*place;
  int64_t harmless;  // the value that takes the most trouble out of a run
};
std::span<const ConfigurationField> configuration_fields();

// Draws, from each seed anew, which faults exist and how strong they are, and how large everything is.
Configuration draw_configuration(uint64_t seed);

// "name=value,name=value": sets what is named. Errors: invalid_argument names the word.
Status set_fields(Configuration& configuration, std::string_view text);
// The fields that differ from `base`, in the same form.
std::string difference(const Configuration& configuration, const Configuration& base);

}  // namespace drover::simulation
