/* One counter for the rounds, one for the call: a branch would share the rounds out. */
unsigned fdo_canary_c(unsigned n) {
  unsigned s = 1;
  for (unsigned i = 0; i < n; i++)
    s = (s << 5 | s >> 27) ^ i;
  return s;
}
