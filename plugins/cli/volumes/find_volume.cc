#include "volumes/find_volume.h"

#include <algorithm>

#include "drover/api/volumes.pb.h"
#include "output.h"
#include "volumes/volume_text.h"

namespace drover::cli {

Result<std::string> find_volume(Run& run, const std::string& typed) {
  v1::ListVolumesRequest request;
  request.set_type("csi");
  DROVER_TRY(auto answer, run.client.call<v1::Volumes::List>(request, {{"prefix", typed}}));
  auto& matches = *answer.message.mutable_volumes();
  const auto is_exact = [&](const v1::VolumeStub& match) { return match.id() == typed; };
  const auto others = std::stable_partition(matches.begin(), matches.end(), is_exact);
  if (others != matches.begin()) matches.erase(others, matches.end());
  if (matches.empty()) return not_found("No volumes with prefix or ID \"" + typed + "\" found");
  if (matches.size() > 1) {
    return invalid_argument("Prefix matched multiple volumes\n\n" +
                            format_list(volume_rows(answer.message, run.client.name_space() == "*")));
  }
  if (run.client.name_space() == "*") run.client.set_namespace(matches[0].namespace_());
  return matches[0].id();
}

}  // namespace drover::cli
