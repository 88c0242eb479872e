#include "sizes.h"

#include <algorithm>
#include <string>

#include "csi/v1/csi.pb.h"
#include "volumes.h"

namespace drover::hostpath {
namespace {

constexpr int64_t kUsual = int64_t{1} << 30;
constexpr int64_t kMost = int64_t{1} << 62;

int64_t rounded_up(int64_t size) { return (size + kBlock - 1) / kBlock * kBlock; }

}  // namespace

Status check_range(const csi::v1::CapacityRange& range) {
  if (range.required_bytes() < 0 || range.limit_bytes() < 0)
    return invalid_argument("capacity_range: a bound is negative");
  if (range.required_bytes() > kMost) return Status(Code::out_of_range, "capacity_range: so much there never is");
  if (range.limit_bytes() > 0 && range.limit_bytes() < range.required_bytes())
    return Status(Code::out_of_range, "capacity_range: the limit is less than what is required");
  return {};
}

Result<int64_t> size_of(const csi::v1::CapacityRange& range, bool is_block, int64_t least) {
  const int64_t limit = range.limit_bytes() > 0 ? range.limit_bytes() : kMost + kBlock;
  int64_t size = std::max({range.required_bytes(), least, kBlock});
  if (range.required_bytes() == 0 && least == 0) size = std::max(std::min(kUsual, limit / kBlock * kBlock), kBlock);
  if (is_block) size = rounded_up(size);
  if (size > limit)
    return Status(Code::out_of_range,
                  "capacity_range: the volume needs " + std::to_string(size) + " bytes, which is more than the limit");
  return size;
}

Status check_room(const Room& room, int64_t size, int64_t more) {
  if (more <= 0) return {};
  if (size > room.total)
    return Status(Code::out_of_range, "capacity_range: a volume may have " + std::to_string(room.total) + " bytes");
  if (more > room.left) return resource_exhausted("there are " + std::to_string(room.left) + " bytes left");
  return {};
}

}  // namespace drover::hostpath
