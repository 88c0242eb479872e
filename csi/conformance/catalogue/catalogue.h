// The groups of checks, one source each.
#pragma once

#include <span>

#include "../check.h"

namespace drover::csi_kit {

std::span<const Check> identity_checks();
std::span<const Check> controller_checks();
std::span<const Check> publish_checks();
std::span<const Check> snapshot_checks();
std::span<const Check> expansion_checks();
std::span<const Check> paging_checks();
std::span<const Check> node_checks();
std::span<const Check> publish_table_checks();
std::span<const Check> idempotency_checks();
std::span<const Check> error_checks();
std::span<const Check> hostile_checks();
std::span<const Check> concurrency_checks();
std::span<const Check> restart_checks();
std::span<const Check> clean_checks();

}  // namespace drover::csi_kit
