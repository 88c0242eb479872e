// The packet filter of this machine, by scripts of nftables. [one thread at a time]
#pragma once

#include <memory>
#include <string>

#include "drover/result.h"

struct nft_ctx;

namespace drover::networks {

class PacketFilter {
 public:
  PacketFilter();
  // All of the script, or nothing. Returns what it prints. Errors: unavailable with the reason.
  Result<std::string> run(const std::string& script);

 private:
  struct Free {
    void operator()(nft_ctx* context) const;
  };
  std::unique_ptr<nft_ctx, Free> context_;
};

}  // namespace drover::networks
