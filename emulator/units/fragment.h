// Which elements of a matrix the registers of a warp hold. Source: PTX ISA, "Matrix fragments for mma" and "Register
// fragments" of wgmma, whose pictures come down to these three rules.
#pragma once

namespace tandem::emulator {

struct Place {
  unsigned row, column;
};

// Of the left factor, [M, K], the element at `part` of the `parts` (1, 2 or 4) that the lane's register `index` packs.
inline Place placeOfLeft(unsigned lane, unsigned index, unsigned part, unsigned parts) {
  return {lane / 4 + index % 2 * 8, (index / 2 * 4 + lane % 4) * parts + part};
}

// Of the right factor, [K, N].
inline Place placeOfRight(unsigned lane, unsigned index, unsigned part, unsigned parts) {
  return {(index * 4 + lane % 4) * parts + part, lane / 4};
}

// Of the sums, [M, N]: the lane's element `index`, counted through registers that pack two.
inline Place placeOfSum(unsigned lane, unsigned index) {
  return {lane / 4 + index / 2 % 2 * 8, index / 4 * 8 + lane % 4 * 2 + index % 2};
}

}  // namespace tandem::emulator
