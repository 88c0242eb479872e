#include "tests/simulation/cluster/node.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "kernel/raft/segment_log.h"

namespace drover::simulation {

raft::NodeId id_of(int number) {
  std::string bytes(16, '\0');
  bytes[0] = 'n';
  bytes[15] = static_cast<char>(number);
  return raft::NodeId::from_bytes(bytes);
}

int number_of(raft::NodeId id) {
  const auto bytes = std::bit_cast<std::array<uint8_t, 16>>(id);
  return bytes[0] == 'n' ? bytes[15] : -1;
}

Node::Node(World& world, int number, uint64_t seed)
    : world_(world),
      number_(number),
      id_(id_of(number)),
      seed_(scatter(seed ^ static_cast<uint64_t>(number + 1))),
      random_(seed_, "node"),
      disk_(world.configuration, scatter(seed_)),
      clock_(random_.between(0, 1000 * kSecond),
             random_.between(-world.configuration.clock_rate, world.configuration.clock_rate)) {
  world.invariants.introduce(number, id_);
}

// ---- start and end ----

void Node::start() {
  if (is_up() || is_lost_) return;
  ++life_;
  has_storage_failed_ = false;
  machine_ = KeyValue();
  const Status status = open();
  if (!status.ok()) return fail_start(status);
  started();
}

void Node::fail_start(const Status& status) {
  const bool was_power_cut = disk_.files.has_crashed();
  close();
  // Rot may also look like the log of another server or of a newer program.
  const bool is_refused = status.code() == Code::data_loss || status.code() == Code::failed_precondition;
  if (is_refused && !was_power_cut && !has_storage_failed_) {
    if (!is_damaged_) {
      return world_.invariants.fail(
          "durability",
          "n" + std::to_string(number_) + " refuses to start although its disk was never damaged: " + status.message());
    }
    world_.trace.note("refuses to start: its disk is damaged", number_);
    is_lost_ = !can_begin_again() || random_.chance(300'000);
    if (is_lost_) return;
    disk_.files.wipe();
    is_cut_ = true;
    bootstrap_.reset();
  }
  world_.trace.note("cannot start: error {}", number_, static_cast<uint64_t>(status.code()));
  crash(was_power_cut);
  world_.loop.after(100'000 + random_.exponential(world_.configuration.down_time), [this, life = life_] {
    if (life == life_) start();
  });
}

void Node::crash(bool is_power_cut) {
  if (is_up()) world_.trace.note("goes down", number_, is_power_cut);
  world_.invariants.stopped(number_);
  ++life_;
  close();
  is_disk_busy_ = false;
  paused_until_ = 0;
  // Without a power cut the operating system still writes what it was given.
  if (!is_power_cut) disk_.files.set_survival(1'000'000, 0);
  disk_.files.reboot();
  const Configuration& c = world_.configuration;
  disk_.files.set_survival(static_cast<uint64_t>(c.sector_survival), static_cast<uint64_t>(c.garbage_sectors));
}

void Node::stop() {
  if (!is_up() || is_paused()) return;
  world_.trace.note("is stopped", number_);
  shut_down();
  crash(disk_.files.has_crashed());
}

void Node::pause(Micros until) {
  if (!is_up()) return;
  world_.trace.note("stands still", number_, static_cast<uint64_t>(until - world_.loop.now()));
  paused_until_ = until;
  world_.loop.at(until, [this, life = life_] {
    if (life != life_ || is_paused()) return;
    world_.trace.note("goes on", number_);
    continued();
  });
}

void Node::damage(Random& random) {
  std::vector<std::string> paths = disk_.files.paths();
  std::erase_if(paths, [](const std::string& path) {
    const bool is_state = path.starts_with("/raft/seg-") || path.starts_with("/raft/snap-");
    return !is_state && !path.starts_with("/raft/recv-");
  });
  if (paths.empty()) return;
  // Most of a segment is empty: a place is looked for where something stands, but not for ever.
  constexpr int kTries = 8;
  constexpr size_t kNear = 64;
  std::string path;
  uint64_t offset = 0;
  for (int i = 0; i < kTries; ++i) {
    path = paths[random.below(paths.size())];
    const std::string content = disk_.files.content(path);
    offset = random.below(std::max<size_t>(1, content.size()));
    const std::string_view around = std::string_view(content).substr(offset, kNear);
    if (around.find_first_not_of('\0') != std::string_view::npos) break;
  }
  if (!disk_.files.flip_bit(path, offset, static_cast<int>(random.below(8)))) return;
  world_.trace.note("rots: one bit of its disk at offset {}", number_, offset);
  is_damaged_ = true;
}

void Node::repaired() {
  is_cut_ = false;
  is_damaged_ = disk_.files.is_rotten();  // bits of what it did not have to read
  world_.trace.note("is whole again", number_);
}

// ---- the disk ----

raft::SegmentLogOptions Node::log_options() {
  const Configuration& c = world_.configuration;
  raft::SegmentLogOptions options{.directory = "/raft",
                                  .cluster_id = id_of(200),
                                  .node_id = id_,
                                  .segment_bytes = static_cast<uint64_t>(c.segment_bytes),
                                  .initial_segment_bytes = static_cast<uint64_t>(c.initial_segment_bytes),
                                  .spare_segments = static_cast<size_t>(c.spare_segments),
                                  .cache_bytes = static_cast<uint64_t>(c.cache_bytes)};
  options.on_failure = [this](const Status&) { has_storage_failed_ = true; };
  return options;
}

void Node::kick_disk() {
  if (is_disk_busy_ || !has_writes()) return;
  is_disk_busy_ = true;
  const Disk::Times times = disk_.write(world_.loop.now());
  // The device works while its server stands still.
  world_.loop.at(times.reaches, [this, life = life_, turn = ++disk_turn_, told_at = times.is_told] {
    if (life != life_ || turn != disk_turn_) return;
    (void)write_log();
    has_storage_failed_ |= disk_.files.has_crashed();
    later(std::max<Micros>(0, told_at - world_.loop.now()), [this] { told(); });
  });
}

void Node::told() {
  if (has_storage_failed_) return end_of_storage();
  is_disk_busy_ = false;
  written();
  kick_disk();
}

void Node::heal_disk() {
  disk_.heal();
  if (!is_up() || !is_disk_busy_) return;
  ++disk_turn_;
  later(0, [this] { told(); });
}

void Node::end_of_storage() {
  const bool was_power_cut = disk_.files.has_crashed();
  world_.trace.note("ends: its log cannot be written", number_);
  crash(was_power_cut);
  world_.loop.after(random_.exponential(world_.configuration.down_time), [this, life = life_] {
    if (life == life_) start();
  });
}

void Node::execute(std::span<const raft::Entry> entries, std::vector<Result<std::string>>& answers) {
  for (const raft::Entry& entry : entries) world_.invariants.applied(number_, entry);
  const size_t first = answers.size();
  machine_.apply(entries, answers);
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].type != raft::EntryType::command || entries[i].index <= world_.executed) continue;
    world_.executed = entries[i].index;
    world_.took_effect(entries[i].bytes(), *answers[first + i]);
  }
}

}  // namespace drover::simulation
