/* Without a C library; run it and it loops for ever. */
volatile int limit, sum;

static int twice(int x) {
  if (x & 1)
    return x * 3;
  return x * 2 + limit;
}

__attribute__((noinline)) int work(int n) {
  for (int i = 0; i < n; i++) {
    if (i == limit || i > 1000) sum += twice(i);
    else sum -= i;
  }
  return n;
}

void _start(void) {
  while (work(sum)) {
  }
}
