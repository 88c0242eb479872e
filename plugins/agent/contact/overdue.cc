#include "contact/overdue.h"

#include <algorithm>

namespace drover::agent {

Overdue overdue(const std::vector<ContactLimit>& limits, SteadyTime last_contact, SteadyTime now) {
  Overdue result;
  for (const ContactLimit& limit : limits) {
    if (now - last_contact >= limit.time) {
      result.stop.push_back(limit.alloc);
      continue;
    }
    const SteadyTime due = last_contact + limit.time;
    result.next = std::min(result.next.value_or(due), due);
  }
  return result;
}

SteadyTime contact_of(const std::optional<ContactMark>& mark, const std::string& boot, SteadyTime now) {
  if (!mark || mark->boot != boot) return now;
  return std::min(now, SteadyTime(std::chrono::nanoseconds(mark->steady_ns)));
}

}  // namespace drover::agent
