#include "supervisors/daemon/daemon.hpp"

int main(int argc, char** argv) { return troupe::supervisors::runDaemon(argc, argv); }
