// Writes the image of a guest, which powers off at its power button, to the path that is the only argument.
#include <fstream>

#include "testing/guest.h"

int main(int count, char** words) {
  if (count != 2) return 2;
  std::ofstream file(words[1]);
  file << drover::qemu::guest_image();
  return file.flush() ? 0 : 1;
}
