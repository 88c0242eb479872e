#include "native/packet_filter.h"

#include <nftables/libnftables.h>

#include <algorithm>
#include <cstdio>

namespace drover::networks {

void PacketFilter::Free::operator()(nft_ctx* context) const { nft_ctx_free(context); }

PacketFilter::PacketFilter() : context_(nft_ctx_new(NFT_CTX_DEFAULT)) {
  if (!context_) return;
  nft_ctx_buffer_output(context_.get());
  nft_ctx_buffer_error(context_.get());
}

Result<std::string> PacketFilter::run(const std::string& script) {
  if (!context_) return unavailable("the packet filter cannot be used");
  const int code = nft_run_cmd_from_buffer(context_.get(), script.c_str());
  std::string printed = nft_ctx_get_output_buffer(context_.get());
  std::string said = nft_ctx_get_error_buffer(context_.get());
  if (code == 0) return printed;
  // The first line has the reason, those after it show the place in the script.
  return unavailable("nftables: " + said.substr(0, said.find('\n')));
}

}  // namespace drover::networks
