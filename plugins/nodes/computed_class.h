// The class of nodes that are alike for constraints: a hash over what the scheduler may look at, without what is unique
// to one machine. Pure.
#pragma once

#include <string>

namespace drover::v1 {
class Node;
}

namespace drover::nodes {

// "v1:" and sixteen hexadecimal digits. Over datacenter, node class, and attributes and metadata without "unique."
// keys.
std::string computed_class(const v1::Node& node);

}  // namespace drover::nodes
