#include "abi_layout.c"
