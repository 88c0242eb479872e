#include "files/file_reader.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "drover/api/client.pb.h"

namespace drover::agent {
namespace {

// One reading. Single-owner.
class Reading {
 public:
  Reading(const FileReadOptions& options, const AllocTree& tree, FileWatch& watch, Clock& clock, const SendFrame& send)
      : options_(options), tree_(tree), watch_(watch), clock_(clock), send_(send), left_(options.limit) {}

  Status run(const std::stop_token& stop) {
    DROVER_TRY(place_, tree_.find(options_.path));
    DROVER_TRY(file_, tree_.open_file(place_));
    if (options_.follow) watched_ = watch_.watch(file_);
    position_ = first_position(static_cast<uint64_t>(place_.found.st_size), options_.from_end, options_.offset);
    next_heartbeat_ = clock_.steady() + options_.heartbeat;
    while (!stop.stop_requested() && left_ > 0) {
      const uint64_t seen = watched_.growth ? watched_.growth->count() : 0;  // before looking: what comes then is told
      DROVER_TRY(const FileLook look, look_again());
      DROVER_TRY(const bool goes_on, step(next_step(position_, look, options_.follow), seen, stop));
      if (!goes_on) break;
    }
    return ok_status();
  }

 private:
  Result<FileLook> look_again() const {
    struct stat now {};
    if (::fstat(file_.get(), &now) != 0) return errno_status(errno, "look at " + options_.path);
    const auto size = static_cast<uint64_t>(now.st_size);
    if (size != position_ || !options_.follow) return FileLook{.size = size};
    const Result<AllocTree::Place> place = tree_.find(options_.path);
    return FileLook{.size = size, .has_name = place && place->is_same(place_)};
  }

  // False at the end.
  Result<bool> step(ReadStep step, uint64_t seen, const std::stop_token& stop) {
    switch (step) {
      case ReadStep::read: {
        DROVER_TRY(const std::optional<bool> has_sent, read());
        if (has_sent) return *has_sent;
        if (!options_.follow) return false;
        watched_.is_told = false;  // it has no bytes where it says so: never busy with that
        break;
      }
      case ReadStep::restart:
        position_ = 0;
        return tell(kFileTruncated);
      case ReadStep::gone:
        tell(kFileDeleted);
        return false;
      case ReadStep::end:
        return false;
      case ReadStep::wait:
        break;
    }
    if (!std::exchange(has_told_end_, true)) return live();
    wait(seen, stop);
    return clock_.steady() < next_heartbeat_ || live();
  }

  void wait(uint64_t seen, const std::stop_token& stop) {
    const SteadyTime soon = clock_.steady() + options_.glance;
    watched_.growth->wait(seen, watched_.is_told ? next_heartbeat_ : std::min(next_heartbeat_, soon), stop);
  }

  // Nothing when there was none.
  Result<std::optional<bool>> read() {
    buffer_.resize(std::min<uint64_t>(kFrameBytes, left_));
    DROVER_TRY(const size_t size, read_at(file_, buffer_, position_));
    if (size == 0) return std::optional<bool>();
    position_ += size;
    left_ -= size;
    v1::FileFrame frame = begin();
    frame.set_data(buffer_.data(), size);
    return std::optional(pass(frame));
  }

  v1::FileFrame begin() const {
    v1::FileFrame frame;
    frame.set_file(options_.path);
    frame.set_offset(static_cast<int64_t>(position_));
    return frame;
  }
  bool tell(const char* event) {
    v1::FileFrame frame = begin();
    frame.set_file_event(event);
    return pass(frame);
  }
  bool live() { return pass(v1::FileFrame()); }
  bool pass(const v1::FileFrame& frame) {
    next_heartbeat_ = clock_.steady() + options_.heartbeat;
    return send_(frame);
  }

  const FileReadOptions& options_;
  const AllocTree& tree_;
  FileWatch& watch_;
  Clock& clock_;
  const SendFrame& send_;
  AllocTree::Place place_;
  Fd file_;
  FileWatch::Watched watched_;
  std::vector<char> buffer_;
  uint64_t position_ = 0;
  uint64_t left_;
  bool has_told_end_ = false;
  SteadyTime next_heartbeat_;
};

}  // namespace

ReadStep next_step(uint64_t position, const FileLook& look, bool follow) {
  if (look.size > position) return ReadStep::read;
  if (!follow) return ReadStep::end;
  if (look.size < position) return ReadStep::restart;
  return look.has_name ? ReadStep::wait : ReadStep::gone;
}

uint64_t first_position(uint64_t size, bool from_end, uint64_t offset) {
  const uint64_t inside = std::min(offset, size);
  return from_end ? size - inside : inside;
}

Status read_file(const FileReadOptions& options, const AllocTree& tree, FileWatch& watch, Clock& clock,
                 const std::stop_token& stop, const SendFrame& send) {
  return Reading(options, tree, watch, clock, send).run(stop);
}

Status copy_file(const AllocTree& tree, const AllocTree::Place& place, uint64_t offset, uint64_t limit,
                 const std::stop_token& stop, const std::function<bool(std::string_view)>& send) {
  DROVER_TRY(const Fd file, tree.open_file(place));
  const auto size = static_cast<uint64_t>(place.found.st_size);
  uint64_t position = std::min(offset, size);
  const uint64_t end = position + std::min(limit, size - position);
  std::vector<char> buffer(std::min<uint64_t>(kFrameBytes, end - position));
  while (position < end && !stop.stop_requested()) {
    const size_t wanted = std::min<uint64_t>(buffer.size(), end - position);
    DROVER_TRY(const size_t got, read_at(file, std::span(buffer).first(wanted), position));
    if (got == 0 || !send({buffer.data(), got})) return ok_status();
    position += got;
  }
  return ok_status();
}

}  // namespace drover::agent
