// Chance series of calls, good ones and spoilt ones, as tests/fuzz/csi_requests_fuzz.cc takes them.
#include "../testing/requests.h"
#include "gtest/gtest.h"
#include "sdk/testing/chance.h"

void fuzz_csi_requests(std::string_view bytes);

namespace drover::hostpath {
namespace {

std::string call(int which, const google::protobuf::Message& request) {
  const std::string bytes = request.SerializeAsString();
  return std::string{static_cast<char>(which), static_cast<char>(bytes.size())} + bytes;
}

// Volumes get the identifiers "id-0", "id-1", … by what was made before.
std::vector<std::string> calls() {
  std::vector<std::string> all = {call(0, create("a", 4096)), call(0, create("b", 4096, 8192, block()))};
  for (const std::string id : {"id-0", "id-1", "id-2"}) {
    csi::v1::DeleteVolumeRequest remove;
    remove.set_volume_id(id);
    csi::v1::NodeUnpublishVolumeRequest unpublish;
    unpublish.set_volume_id(id);
    unpublish.set_target_path("/p/1");
    csi::v1::NodeUnstageVolumeRequest unstage;
    unstage.set_volume_id(id);
    unstage.set_staging_target_path("/s/1");
    const auto shared = mounted(Mode::SINGLE_NODE_MULTI_WRITER);
    for (const std::string& each :
         {call(1, remove), call(2, attach_to(id, "n1")), call(3, detach_from(id, "n1")), call(4, snapshot_of(id, "s")),
          call(5, stage_at(id, "/s/1", shared)), call(5, stage_at(id, "/s/2", block())),
          call(6, publish_at(id, "/s/1", "/p/1", shared)), call(6, publish_at(id, "/s/1", "/p/2", shared)),
          call(7, unpublish), call(8, unstage)})
      all.push_back(each);
  }
  return all;
}

TEST(HostpathRequests, KeepTheLedgerWholeInAnyOrder) {
  Chance chance(1);
  const std::vector<std::string> all = calls();
  for (int round = 0; round < 2000; ++round) {
    std::string series;
    for (int length = chance.between(1, 30); length > 0; --length) series += all[chance.word() % all.size()];
    fuzz_csi_requests(series);
    series[chance.word() % series.size()] = static_cast<char>(chance.word());
    fuzz_csi_requests(series);
  }
}

}  // namespace
}  // namespace drover::hostpath
