// What the three stand-ins share. One line asks, lines up to an empty one answer.
#pragma once
#include <arpa/inet.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <thread>

inline std::map<std::string, std::string> flags;

// Of a file, and of the command line after it, which overrides it.
inline void readFlag(const std::string& word) {
  auto end = word.find('=');
  if (word.rfind("--", 0) != 0 || end == std::string::npos) return;
  auto name = word.substr(2, end - 2), value = word.substr(end + 1);
  if (name == "flagfile") {
    std::ifstream file(value);
    if (!file) std::cerr << "no file " << value << "\n", exit(1);
    for (std::string line; std::getline(file, line);) readFlag(line);
  }
  flags[name] = value;
}

inline void writeFile(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) std::cerr << "can't write " << path << "\n", exit(1);
}

inline void begin(int argc, char** argv) {
  for (int i = 1; i < argc; i++) readFlag(argv[i]);
  for (auto flag : {"flagfile", "log_dir", "ws_http_port", "meta_server_addrs"})
    if (!flags.count(flag)) std::cerr << "no --" << flag << "\n", exit(1);
  if (flags["daemonize"] != "false" || flags["redirect_stdout"] != "false") exit(1);
  if (!std::ifstream(flags["timezone_file"])) std::cerr << "no time zones\n", exit(1);
  if (std::ifstream(flags["pid_file"])) std::cerr << "runs already\n", exit(1);
  writeFile(flags["pid_file"], std::to_string(getpid()));
}

inline sockaddr_in local(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

inline int listenOn(int port) {
  int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  auto address = local(port);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) || listen(fd, 64)) {
    std::cerr << "port " << port << " is in use\n";
    exit(1);
  }
  return fd;
}

inline bool readLine(int fd, std::string& line) {
  line.clear();
  for (char c; read(fd, &c, 1) == 1;) {
    if (c == '\n') return true;
    line += c;
  }
  return false;
}

inline void send(int fd, const std::string& text) {
  if (write(fd, text.data(), text.size()) < 0) perror("write");
}

// Asks another daemon.
inline std::string ask(int port, const std::string& words) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  auto address = local(port);
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    send(fd, words + "\n");
    for (std::string line; readLine(fd, line) && !line.empty();) answer += line + "\n";
  }
  close(fd);
  return answer;
}

inline int portOf(const std::string& address) { return atoi(address.substr(address.rfind(':') + 1).c_str()); }

// Answers until SIGTERM.
inline int serve(int fd, std::function<std::string(const std::string&)> answer) {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  std::thread([=] {
    for (int client; (client = accept(fd, nullptr, nullptr)) >= 0;)
      std::thread([=] {
        for (std::string line; readLine(client, line);) send(client, answer(line) + "\n");
        close(client);
      }).detach();
  }).detach();
  int signal;
  sigwait(&wanted, &signal);
  return 0;
}
