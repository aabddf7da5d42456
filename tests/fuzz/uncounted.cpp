// What instrumented code calls, doing nothing: for tests on the build that is fuzzed. The sanitizers have the rest.
extern "C" {

void __sanitizer_cov_trace_pc() {}
void __sanitizer_cov_trace_cmpf(float, float) {}
void __sanitizer_cov_trace_cmpd(double, double) {}

}
