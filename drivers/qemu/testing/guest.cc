#include "testing/guest.h"

namespace drover::qemu {
namespace {

constexpr size_t kSector = 512, kOrigin = 0x7c00;
constexpr size_t kDisk = size_t{1} << 20;  // no drive of one sector is read as virtio

std::string little(size_t value) { return {static_cast<char>(value & 0xff), static_cast<char>(value >> 8 & 0xff)}; }

std::string code(std::initializer_list<unsigned char> bytes) { return {bytes.begin(), bytes.end()}; }

// Instructions of the processor's first mode. PIIX4's power management has its ports at 0x600: status, events that are
// wanted, control. Bit 8 of the first two is the power button; 0x2000 to the third powers off.
std::string program(bool waits, size_t up, size_t down) {
  const auto print = [](size_t text) {
    return code({0xbe}) + little(text)                                // mov si, text
           + code({0xba}) + little(0x3f8)                             // mov dx, the serial port
           + code({0xac, 0x84, 0xc0, 0x74, 0x03, 0xee, 0xeb, 0xf8});  // lodsb; zero: done; out; again
  };
  const std::string out = code({0xef});  // out dx, ax
  std::string all = code({0xfa, 0x31, 0xc0, 0x8e, 0xd8, 0x8e, 0xd0, 0xbc}) + little(kOrigin) + code({0xfb, 0xfc});
  all += code({0xba}) + little(0x602) + code({0xb8}) + little(0x100) + out;  // wanted: the power button
  all += print(up);
  if (waits)
    all += code({0xf4, 0xba}) + little(0x600) + code({0xed, 0xf6, 0xc4, 0x01, 0x74, 0xf6});  // hlt; in; not yet
  all += print(down);
  all += code({0xba}) + little(0x604) + code({0xb8}) + little(0x2000) + out;
  return all + code({0xf4, 0xeb, 0xfd});  // hlt for ever
}

}  // namespace

std::string guest_image(bool waits) {
  const std::string up = "guest is up\r\n", down = "guest powers off\r\n";
  const size_t size = program(waits, 0, 0).size(), first = kOrigin + size, second = first + up.size() + 1;
  std::string image = program(waits, first, second) + up + '\0' + down + '\0';
  image.resize(kSector - 2);
  image += "\x55\xaa";
  image.resize(kDisk);
  return image;
}

}  // namespace drover::qemu
