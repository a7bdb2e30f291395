int outside(int);
static int local(int x) { return x + 3; }
int (*pointer)(int) = local;
int global(int x) { return x > 1 ? outside(x) : 2; }
