// Why a volume cannot be had, on a node or at all; as metrics and people read it. Pure.
#pragma once

#include <cstddef>
#include <string>

namespace drover::v1 {
class Node;
}

namespace drover::scheduler {

struct VolumeProblem {
  enum class Kind {
    missing,        // no such volume
    no_plugin,      // the node does not run it
    unhealthy,      // it does not work there
    full,           // as many volumes as the node takes
    topology,       // the volume cannot be reached from there
    unschedulable,  // of the volume: its plugin works nowhere, or lacks a controller
    capability,     // it was never meant to be used so
    other_mode,     // it is in use in another mode
    read_only,      // the mode lets nobody write
    no_reader,      // as many read it as may
    no_writer,      // as many write it as may
    collected,      // the same, and whoever does is forgotten
    // Volumes of the type "host", all of the node:
    host_missing,      // it is of another namespace
    host_not_ready,    // it is being made or deleted
    host_capability,   // it was never meant to be used so
    host_mode,         // the mode does not let the group do what it asks for
    host_writer,       // somebody writes to it, and one may
    host_sticky,       // the group had another one, which nobody has now
    host_not_dynamic,  // it is one of the node's configuration, and cannot be sticky
  };
  Kind kind;
  std::string volume;
  bool reads = false;       // it was asked for read-only
  std::string plugin = {};  // of the volume
  std::string holder = {};  // the allocation that stands in the way
  std::string holder_job = {};
  size_t limit = 0;  // of volumes on the node
};

// A problem of one node, rather than of the volume.
bool is_of_node(VolumeProblem::Kind kind);
// As metrics count it.
std::string text_of(const VolumeProblem& problem, const v1::Node& node);
// The same without the node's name, where it has it.
std::string text_without_node(const VolumeProblem& problem);
// As they count it of nodes beside those that they name; empty: it names none.
std::string text_of_more(const VolumeProblem& problem);
// For people who want another result.
std::string remedy_for(const VolumeProblem& problem);

}  // namespace drover::scheduler
