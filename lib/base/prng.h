// The only source of randomness, seeded, with our own distributions: equal seeds give equal draws
// on every machine and compiler.
//
// Threading: a Prng belongs to one thread at a time.

#ifndef LEEWAY_BASE_PRNG_H_
#define LEEWAY_BASE_PRNG_H_

#include <cstdint>
#include <string_view>

namespace leeway::base {

// xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS
// 2021), its state filled by SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) from the seed.
class Prng {
 public:
  explicit Prng(std::uint64_t seed);

  // Returns an independent generator for a named purpose: drawing more for one purpose does not
  // move the draws of another.
  Prng Fork(std::string_view purpose) const;

  std::uint64_t Next();

  // Returns an integer in [0, bound), unbiased (Lemire, "Fast random integer generation in an
  // interval", ACM TOMACS 2019). Requires bound > 0.
  std::uint64_t Below(std::uint64_t bound);
  // Returns a double in [0, 1): 53 bits.
  double Unit();
  // Returns a double in (0, 1]: safe for a logarithm.
  double UnitOpenLow();
  // Returns an exponential draw of mean 1, by inversion through base::Log.
  double Exponential();
  // Returns a standard normal draw (Marsaglia's polar method).
  double Normal();
  // Returns exp(sigma·Normal()): median 1.
  double LogNormal(double sigma);
  // Returns a Poisson draw of the given mean >= 0: inversion by products below mean 30, beyond it
  // the transformed rejection PTRS (Hörmann 1993).
  std::uint64_t Poisson(double mean);
  // Returns a binomial draw: how many of n independent events of probability p happen.
  std::uint64_t Binomial(std::uint64_t n, double p);

 private:
  std::uint64_t state_[4];
};

}  // namespace leeway::base

#endif  // LEEWAY_BASE_PRNG_H_
