// Mutations of good answers, as tests/fuzz/csi_answers_fuzz.cc takes them.
#include "csi/protocol/messages.h"
#include "gtest/gtest.h"
#include "sdk/testing/chance.h"

void fuzz_csi_answers(std::string_view bytes);

namespace drover::csi {
namespace {

std::vector<std::string> good_answers() {
  v1::CreateVolumeResponse created;
  created.mutable_volume()->set_volume_id("v1");
  created.mutable_volume()->set_capacity_bytes(4096);
  (*created.mutable_volume()->mutable_volume_context())["share"] = "/a";
  v1::ListVolumesResponse list;
  *list.add_entries()->mutable_volume() = created.volume();
  list.mutable_entries(0)->mutable_status()->add_published_node_ids("n1");
  v1::NodeGetInfoResponse node;
  node.set_node_id("n1");
  node.set_max_volumes_per_node(3);
  v1::ValidateVolumeCapabilitiesResponse confirmed;
  confirmed.mutable_confirmed()->add_volume_capabilities()->mutable_mount();
  confirmed.set_message("hunter2");
  return {created.SerializeAsString(), list.SerializeAsString(), node.SerializeAsString(),
          confirmed.SerializeAsString(), "the key hunter2, hunhunter2ter2"};
}

TEST(CsiAnswers, DoNoHarmWhateverTheyAre) {
  Chance chance(1);
  for (const std::string& answer : good_answers()) {
    fuzz_csi_answers(answer);
    for (int round = 0; round < 2000; ++round) {
      std::string changed = answer;
      for (int changes = chance.between(1, 3); changes > 0; --changes)
        changed[chance.word() % changed.size()] = static_cast<char>(chance.word());
      fuzz_csi_answers(changed.substr(0, chance.word() % (changed.size() + 1)));
      fuzz_csi_answers(changed);
    }
  }
}

}  // namespace
}  // namespace drover::csi
