#include <string.h>
#include <stdlib.h>
static int a(int x){return x+1;} static int b(int x){return x*2;} 
int (*t[2])(int)={a,b};
__attribute__((noinline)) int run(int n){int s=0;for(int i=0;i<n;i++)s+=t[i%10==0](i);return s;}
__attribute__((noinline)) void cp(char*d,char*s,int n){memcpy(d,s,n);}
int main(int c,char**v){char x[100],y[100]={0};int r=run(100000);for(int i=0;i<1000;i++)cp(x,y,i%7?8:16+i%5);return (r+x[3])==7;}
