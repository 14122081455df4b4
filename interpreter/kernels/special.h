// Special functions the C++ library lacks, in double.
#pragma once
namespace tandem::interpreter {

double inverseErf(double x);   // NaN outside [-1, 1]
double inverseErfc(double x);  // NaN outside [0, 2]
double scaledErfc(double x);   // exp(x^2) erfc(x)
double normalCdf(double x);
double inverseNormalCdf(double p);  // NaN outside [0, 1]
double besselI0(double x);          // modified, first kind
double besselI1(double x);
double logGamma(double x);  // log |Gamma(x)|; unlike lgamma it writes no global

}  // namespace tandem::interpreter
